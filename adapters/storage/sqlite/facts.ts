/** Reads the facts of decisions (application/decisions/fact.ts) from SQLite. */

import type { About, Answer, FactName } from '../../../application/decisions/fact.ts';
import { compile, inOrder, sqlite } from '../dialect.ts';
import { lockedSessions } from '../queries/sessions.ts';
import { countUsers } from '../queries/users.ts';
import { type RowFact, type RowFactName, rowFacts } from '../row-facts.ts';
import { DUE_COLUMNS, type DueApprovalRow, IS_OPEN, toDueApproval } from '../rows/approval-row.ts';
import { type Bound, storable } from '../rows/column.ts';
import { selectedBy, type TaskRow } from '../rows/task-row.ts';
import { answer } from './answer.ts';
import type { Run } from './handle.ts';

type Readers = { readonly [Name in FactName]: (run: Run, about: About<Name>) => Answer<Name> };

const sharedReaders = Object.fromEntries(
  Object.entries(rowFacts).map(([name, fact]) => [name, shared(fact as RowFact<never>)]),
) as unknown as Pick<Readers, RowFactName>;

/** Reads a fact that both engines read by one select. */
function shared<Name extends FactName>({ text: source, values, read }: RowFact<Name>) {
  const { text, names } = compile(source(sqlite), sqlite);
  return (run: Run, about: About<Name>) => read(run<never>(text, inOrder(names, values(about, sqlite))).rows);
}

const readers: Readers = {
  ...sharedReaders,

  sessions: (run, about) => answer(run, lockedSessions, about),

  live_tasks: (run, { selection, at }) => {
    const { by, keys } = selectedBy(selection);
    // The first keys select the tasks, the second mark them as selected, unlike tasks delegated from them.
    const { rows } = run<LiveTaskRow>(LIVE_TASKS[by], [...keys, ...keys, at]);
    return {
      taskIds: rows.map((row) => row.task_id),
      delegated: new Set(rows.flatMap((row) => (row.selected === 0 ? [row.task_id] : []))),
      sponsors: [...new Set(rows.flatMap((row) => (row.selected === 1 ? [row.sponsor] : [])))].slice(0, 2),
    };
  },

  some_live_tasks: (run, { limit, at }) => {
    const { rows } = run<TaskIdRow>(SOME_LIVE_TASKS, [at, limit, at]);
    return { taskIds: rows.map((row) => row.task_id), areAll: rows.length < limit };
  },

  due_tasks: (run, { overBy, limit }) => run<TaskIdRow>(dueTasks, [overBy, limit]).rows.map((row) => row.task_id),

  due_approvals: (run, { overBy, limit }) => run<DueApprovalRow>(dueApprovals, [overBy, limit]).rows.map(toDueApproval),

  ended_tasks: (run, { endedBy, limit }) => run<TaskIdRow>(endedTasks, [endedBy, limit]).rows.map((row) => row.task_id),

  user_count: (run, about) => answer(run, countUsers, about),

  status_slot: (run, { audience, draws }) => {
    const list = first<OpenListRow>(run, openList, storable('audience', audience));
    if (list === undefined) return undefined;
    const { list_id: listId, entries } = list;
    const isFree = (index: number) => !isThere(run, statusIndex, listId, index);
    const drawn = draws.map((draw) => draw % entries);
    const after = (taken: number) => first<{ free: number }>(run, afterTaken, listId, taken, entries)?.free;
    const index = drawn.find(isFree) ?? after(drawn[0] ?? 0) ?? (isFree(0) ? 0 : after(0));
    return { listId, entries, free: index === undefined ? [] : [index] };
  },

  taken_status_indices: (run, { listId, indices }) => {
    const firstFree = indices.findIndex((index) => !isThere(run, statusIndex, listId, index));
    return firstFree < 0 ? indices : indices.slice(0, firstFree);
  },

  open_status_list: (run, audience) => {
    const lists = run<OpenListRow>(openList, [storable('audience', audience)]).rows;
    const [oldest] = lists;
    if (oldest === undefined) return undefined;
    const taken = first<{ taken: number }>(run, countTaken, oldest.list_id)?.taken ?? 0;
    return { listId: oldest.list_id, hasRoom: taken < oldest.entries, isOnly: lists.length === 1 };
  },
};

export function readFact<Name extends FactName>(
  run: Run,
  { fact, about }: { readonly fact: Name; readonly about: About<Name> },
): Answer<Name> {
  return readers[fact](run, about);
}

function first<Row>(run: Run, query: string, ...values: readonly Bound[]): Row | undefined {
  return run<Row>(query, values).rows[0];
}

function isThere(run: Run, query: string, ...values: readonly Bound[]): boolean {
  return run(query, values).count > 0;
}

/** The audience's open status lists, oldest first. */
const openList = `select list_id, entries from status_lists
  where audience = ? and closed_at is null order by created_at, list_id limit 2`;
const statusIndex = 'select 1 from tasks where status_list = ? and status_index = ?';
const countTaken = 'select count(*) as taken from tasks where status_list = ? and status_index is not null';

interface OpenListRow {
  readonly list_id: string;
  readonly entries: number;
}

/** Reads the index in order, from the index of a task on, up to the first one without a task. */
const afterTaken = `select t.status_index + 1 as free from tasks t
  where t.status_list = ? and t.status_index >= ? and t.status_index < ? - 1
    and not exists (select 1 from tasks n where n.status_list = t.status_list and n.status_index = t.status_index + 1)
  order by t.status_index limit 1`;

interface LiveTaskRow extends Pick<TaskRow, 'task_id' | 'sponsor'> {
  readonly selected: 0 | 1;
}

type TaskIdRow = Pick<TaskRow, 'task_id'>;

/**
 * Finds the selected tasks and all tasks delegated from them, also through tasks that have ended, and returns the live
 * ones. The cross join keeps its order, so that each task is looked up by its key. Otherwise SQLite's planner, which
 * overestimates their number, would read all live tasks.
 */
function liveTasks(column: string, roots: string, more = ''): string {
  return treeOf(`tasks where ${roots}`, `t.task_id, t.sponsor, t.${column} is ?${more} as selected`);
}

function treeOf(roots: string, columns: string): string {
  return `with recursive tree (task_id) as (
      select task_id from ${roots}
      union
      select t.task_id from tree join tasks t on t.parent_task_id = tree.task_id
    )
    select ${columns}
      from tree cross join tasks t using (task_id) where t.state = 'live' and t.expires_at > ?
      order by t.created_at, t.task_id`;
}

/** An index on the expression has the live tasks in the order of their ids. */
const SOME_LIVE_TASKS = treeOf(
  "(select task_id from tasks where lower(state) = 'live' and expires_at > ? order by task_id limit ?)",
  't.task_id',
);

const LIVE_TASKS = {
  task_id: liveTasks('task_id', 'task_id = ?'),
  agent_id: liveTasks('agent_id', "agent_id = ? and state = 'live'"),
  sponsor_key: liveTasks('sponsor_key', "sponsor_key = ? and state = 'live'"),
  sponsor_agent: liveTasks('sponsor_key', "sponsor_key = ? and agent_id = ? and state = 'live'", ' and t.agent_id = ?'),
  session_id: liveTasks('session_id', "session_id = ? and state = 'live'"),
  session_or_none: liveTasks(
    'session_id',
    `session_id = ? and state = 'live'
      union all select task_id from tasks where sponsor = ? and session_id is null and state = 'live'`,
    ' or (t.session_id is null and t.sponsor = ?)',
  ),
  sponsor: liveTasks('sponsor', "sponsor = ? and state = 'live'"),
} as const;

const dueTasks = `select task_id from (
    select task_id, created_at from tasks where state = 'live' and expires_at <= ? order by expires_at limit ?
  ) order by created_at, task_id`;

const dueApprovals = `select ${DUE_COLUMNS} from (
    select approval_id, task_id, digest, commitment, decided_at, expires_at from approvals
        where ${IS_OPEN} and expires_at <= ? order by expires_at limit ?
  ) v cross join tasks t using (task_id) where t.expires_at > v.expires_at`;

const endedTasks = `select task_id from tasks ended where ended_at <= ? and status_list is null
    and not exists (select 1 from tasks child where child.parent_task_id = ended.task_id)
  order by ended_at limit ?`;
