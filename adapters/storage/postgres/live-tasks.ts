/** Reads the tasks that a decision is about to end or delete, and locks their rows until the transaction ends. */

import type { About, LiveTasks, SomeLiveTasks } from '../../../application/decisions/fact.ts';
import type { Clock } from '../../../application/ports/runtime.ts';
import type { TaskId } from '../../../domain/identifiers.ts';
import type { Instant } from '../../../domain/instant.ts';
import type { Bound } from '../rows/column.ts';
import { selectedBy } from '../rows/task-row.ts';
import { bindInstant } from './column-types.ts';
import type { Prepared, Run } from './pool/pool.ts';

/**
 * A task counts as live if it expires after this time, the earlier of two clocks. So a kill misses no task because the
 * instance's clock is ahead. The time of the database is null except in tests, which cannot move the clock of the server.
 */
const earliest = (at: string, databaseNow: string) => `least(${at}, coalesce(${databaseNow}, clock_timestamp()))`;

const NOW = earliest('$2::timestamptz', '$3::timestamptz');

interface Tree {
  /** A common table expression that `roots` names. */
  readonly before?: string;
  readonly roots: string;
  /** Whether the task `t` is selected, and not only delegated from one. */
  readonly selected: string;
  /** A further member of the answer. */
  readonly found?: string;
}

/**
 * Finds the selected tasks and all tasks delegated from them, also through tasks that have ended. It locks the live
 * ones in the order of their ids. Each task is looked up separately (`offset 0`, `for update`): the planner
 * overestimates their number, and a join would read all live tasks. The answer is one JSON text, because 100,000 rows
 * would cost the event loop far more.
 */
const treeOf = (name: string, { before = '', roots, selected, found = '' }: Tree) => ({
  name: `live_tasks_by_${name}`,
  text: `with recursive ${before}tree as (
      select task_id from ${roots}
      union
      select child.task_id from tree cross join lateral (
        select task_id from tasks where parent_task_id = tree.task_id offset 0
      ) child
    ), live as (
      select task.* from (select task_id from tree order by task_id) named cross join lateral (
        select t.task_id, t.created_at, t.sponsor collate "C" as sponsor, ${selected} as selected from tasks t
          where t.task_id = named.task_id and t.state = 'live' and t.expires_at > ${NOW} for update
      ) task
    )
    select json_build_object(
      'taskIds', coalesce(json_agg(task_id order by created_at, task_id), '[]'),
      'delegated', coalesce(json_agg(task_id) filter (where not selected), '[]'),
      'sponsors', array_remove(array[min(sponsor) filter (where selected), max(sponsor) filter (where selected)], null)${found}
    )::text as found from live`,
});

/** @param more a further condition on the selected tasks, in addition to that on `column` */
const selectTree = (column: string, roots: string, name = column, more = '') =>
  treeOf(name, { roots: `tasks where ${roots}`, selected: `t.${column} is not distinct from $1${more}` });

const trees = {
  task_id: selectTree('task_id', 'task_id = $1'),
  agent_id: selectTree('agent_id', "agent_id = $1 and state = 'live'"),
  sponsor_key: selectTree('sponsor_key', "sponsor_key = $1 and state = 'live'"),
  sponsor_agent: selectTree(
    'sponsor_key',
    "sponsor_key = $1 and agent_id = $4 and state = 'live'",
    'sponsor_agent',
    ' and t.agent_id = $4',
  ),
  session_id: selectTree('session_id', "session_id = $1 and state = 'live'"),
  // `union all`: for a plain `union` the planner may sort, and reads all tasks in the order of their ids.
  session_or_none: selectTree(
    'session_id',
    `session_id = $1 and state = 'live'
      union all select task_id from tasks where sponsor = $4 and session_id is null and state = 'live'`,
    'session_or_none',
    ' or (t.session_id is null and t.sponsor = $4)',
  ),
  sponsor: selectTree('sponsor', "sponsor = $1 and state = 'live'"),
} as const;

/** An index on the expression has the live tasks in the order of their ids. */
const someTree = treeOf('limit', {
  before: `roots as materialized (
      select task_id from tasks where lower(state) = 'live' and expires_at > ${NOW} order by task_id limit $1
    ), `,
  roots: 'roots',
  selected: 'true',
  found: `,
      'found', (select count(*) from roots)`,
});

interface FoundTasks {
  readonly taskIds: readonly TaskId[];
  readonly delegated: readonly TaskId[];
  /** The lowest and the highest of the sponsors' names. They are equal if there is only one sponsor. */
  readonly sponsors: readonly string[];
  /**
   * `someTree` answers it: the number of tasks that were found before any was locked. Other transactions may have ended some
   * of them since.
   */
  readonly found?: number;
}

const selectChildren = {
  name: 'live_children',
  text: `select child.task_id from json_array_elements_text($1::json) as parent (task_id) cross join lateral (
      select t.task_id from tasks t where t.parent_task_id = parent.task_id and t.state = 'live' and t.expires_at > ${NOW} offset 0
    ) child`,
};

/**
 * A concurrent exchange may add a task that is delegated from one of these tasks. Its agent or person may differ, so this
 * decision does not hold their locks. Such an exchange locks the parent task's row. Once this transaction locks that row,
 * the exchange has committed, and a second read finds its task. The loop repeats until a read finds no new task.
 */
async function readTree(
  run: Run,
  tree: Prepared,
  [key, ...others]: readonly [Bound, ...Bound[]],
  at: Instant,
  databaseClock: Clock | undefined,
): Promise<FoundTasks> {
  const times = [bindInstant(at), databaseClock === undefined ? null : bindInstant(databaseClock.now())];
  for (;;) {
    const { rows } = await run<{ found: string }>(tree, [key, ...times, ...others]);
    const found = JSON.parse(rows[0]?.found ?? '') as FoundTasks;
    const { taskIds, delegated } = found;
    if (taskIds.length > 0) {
      const ids = JSON.stringify(taskIds);
      const children = await run<{ task_id: TaskId }>(selectChildren, [ids, ...times]);
      const known = new Set(delegated.length === 0 && children.rows.length === 0 ? [] : taskIds);
      if (children.rows.some((child) => !known.has(child.task_id))) continue;
    }
    return found;
  }
}

export async function readLiveTasks(
  run: Run,
  { selection, at }: About<'live_tasks'>,
  databaseClock: Clock | undefined,
): Promise<LiveTasks> {
  const { by, keys } = selectedBy(selection);
  const { taskIds, delegated, sponsors } = await readTree(run, trees[by], keys, at, databaseClock);
  return { taskIds, delegated: new Set(delegated), sponsors: [...new Set(sponsors)] };
}

/**
 * `live_tasks` for a task `q`, whose row this transaction has locked. In a batch one statement reads it for all. A task
 * that other tasks were delegated from is left to `readLiveTasks`, which locks their rows too.
 */
export const liveTask = {
  keys: 'task_id text, at timestamptz, database_now timestamptz',
  found: `select t.task_id, t.sponsor,
      t.state = 'live' and t.expires_at > ${earliest('q.at', 'q.database_now')} as is_live,
      exists (select from tasks child where child.parent_task_id = t.task_id offset 0) as has_delegated
    from tasks t where t.task_id = q.task_id`,
};

export interface LiveTaskRow {
  readonly task_id: TaskId;
  readonly sponsor: string;
  readonly is_live: boolean;
  readonly has_delegated: boolean;
}

/** @returns `undefined` if the decision must run alone */
export function toLiveTasks(row: LiveTaskRow | undefined): LiveTasks | undefined {
  if (row === undefined || row.has_delegated) return undefined;
  const { task_id: taskId, sponsor } = row;
  return { taskIds: row.is_live ? [taskId] : [], delegated: new Set(), sponsors: row.is_live ? [sponsor] : [] };
}

export async function readSomeLiveTasks(
  run: Run,
  { limit, at }: About<'some_live_tasks'>,
  databaseClock: Clock | undefined,
): Promise<SomeLiveTasks> {
  const { found = 0, taskIds } = await readTree(run, someTree, [limit], at, databaseClock);
  return { taskIds, areAll: found < limit };
}

const dueTasks = {
  name: 'due_tasks',
  text: `with due as (
      select t.task_id, t.created_at from tasks t where t.ended_at is null and t.expires_at <= $1
        order by t.expires_at limit $2 for update skip locked
    ) select task_id from due order by created_at, task_id`,
};

export async function readDueTasks(run: Run, { overBy, limit }: About<'due_tasks'>): Promise<readonly TaskId[]> {
  const { rows } = await run<{ task_id: TaskId }>(dueTasks, [bindInstant(overBy), limit]);
  return rows.map((row) => row.task_id);
}

const endedTasks = {
  name: 'ended_tasks',
  text: `select task_id from tasks ended where ended_at <= $1 and status_list is null
      and not exists (select from tasks child where child.parent_task_id = ended.task_id offset 0)
    order by ended_at limit $2 for update skip locked`,
};

export async function readEndedTasks(run: Run, { endedBy, limit }: About<'ended_tasks'>): Promise<readonly TaskId[]> {
  const { rows } = await run<{ task_id: TaskId }>(endedTasks, [bindInstant(endedBy), limit]);
  return rows.map((row) => row.task_id);
}
