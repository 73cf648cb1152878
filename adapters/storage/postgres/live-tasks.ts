/** Reads the tasks that end, and locks their rows and those of their grants until the transaction ends. */

import type { About, LiveTask, LiveTasks, TaskSelection } from '../../../application/decisions/fact.ts';
import type { TaskId } from '../../../domain/identifiers.ts';
import type { TaskRow } from '../rows/task-row.ts';
import { storable } from '../rows/text.ts';
import { bindInstant } from './column-types.ts';
import type { Run } from './connections.ts';

type LiveTaskRow = Pick<
  TaskRow,
  'task_id' | 'agent_id' | 'sponsor' | 'audience' | 'scope' | 'delegation_depth' | 'created_at' | 'parent_task_id'
>;

const COLUMNS =
  't.task_id, t.agent_id, t.sponsor, t.audience, t.scope, t.delegation_depth, t.created_at, t.parent_task_id';

/**
 * The tree begins at the selected task, live or ended, or at the live tasks of the selection, and goes on through ended
 * tasks. Each task is looked up by itself (`offset 0`, `for update`): no planner knows how few there are, and a join would
 * read all live tasks. The rows are locked in the order of their keys.
 */
const selectTree = (column: string, roots: string) => ({
  name: `live_tasks_by_${column}`,
  text: `with recursive tree as (
      select task_id from tasks where ${roots}
      union
      select child.task_id from tree cross join lateral (
        select task_id from tasks where parent_task_id = tree.task_id offset 0
      ) child
    )
    select task.* from (select task_id from tree order by task_id) named cross join lateral (
      select ${COLUMNS}, t.${column} = $1 as selected from tasks t
        where t.task_id = named.task_id and t.state = 'live' and t.expires_at > $2 for update
    ) task`,
});

const trees = {
  task_id: selectTree('task_id', 'task_id = $1'),
  agent_id: selectTree('agent_id', "agent_id = $1 and state = 'live'"),
  sponsor_key: selectTree('sponsor_key', "sponsor_key = $1 and state = 'live'"),
  session_id: selectTree('session_id', "session_id = $1 and state = 'live'"),
  sponsor: selectTree('sponsor', "sponsor = $1 and state = 'live'"),
} as const;

const countChildren = {
  name: 'live_children',
  text: `select count(*) as children from json_array_elements_text($1::json) as parent (task_id) cross join lateral (
      select from tasks t where t.parent_task_id = parent.task_id and t.state = 'live' and t.expires_at > $2 offset 0
    ) child`,
};

/**
 * An exchange that delegates from one of the tasks may be for a person and by an agent whose locks nobody holds here. It
 * holds its parent's row instead. So it has committed once that row is locked here, and is found by reading again.
 */
export async function readLiveTasks(run: Run, { selection, at }: About<'live_tasks'>): Promise<LiveTasks> {
  const { column, key } = selected(selection);
  for (;;) {
    const values = [key, bindInstant(at)];
    const { rows } = await run<LiveTaskRow & { readonly selected: boolean }>(trees[column], values);
    const ids = new Set(rows.map((row) => row.task_id));
    const known = rows.filter((row) => row.parent_task_id !== null && ids.has(row.parent_task_id)).length;
    if (rows.length > 0) {
      const parents = [JSON.stringify([...ids]), bindInstant(at)];
      const counted = await run<{ children: number }>(countChildren, parents);
      if ((counted.rows[0]?.children ?? 0) > known) continue;
    }
    const tasks = await withRenewals(run, rows);
    return {
      selected: tasks.filter((_, nth) => rows[nth]?.selected === true),
      delegated: tasks.filter((_, nth) => rows[nth]?.selected === false),
    };
  }
}

/** The column that the selected tasks share, and its value. */
function selected(selection: TaskSelection): { readonly column: keyof typeof trees; readonly key: string } {
  switch (selection.kind) {
    case 'task':
      return { column: 'task_id', key: selection.taskId };
    case 'agent':
      return { column: 'agent_id', key: selection.agentId };
    case 'sponsor':
      return { column: 'sponsor_key', key: storable('sponsor_key', selection.sponsorKey) };
    case 'session':
      return { column: 'session_id', key: storable('session_id', selection.sessionId) };
    case 'subject':
      return { column: 'sponsor', key: storable('sponsor', selection.subject) };
  }
}

const dueTasks = {
  name: 'due_tasks',
  text: `select ${COLUMNS} from tasks t where t.ended_at is null and t.expires_at <= $1
    order by t.expires_at limit $2 for update skip locked`,
};

export async function readDueTasks(run: Run, { overBy, limit }: About<'due_tasks'>): Promise<readonly LiveTask[]> {
  const { rows } = await run<LiveTaskRow>(dueTasks, [bindInstant(overBy), limit]);
  return withRenewals(run, rows);
}

const endedTasks = {
  name: 'ended_tasks',
  text: `select task_id from tasks ended where ended_at <= $1
      and not exists (select from tasks child where child.parent_task_id = ended.task_id offset 0)
    order by ended_at limit $2 for update skip locked`,
};

export async function readEndedTasks(run: Run, { endedBy, limit }: About<'ended_tasks'>): Promise<readonly TaskId[]> {
  const { rows } = await run<{ task_id: TaskId }>(endedTasks, [bindInstant(endedBy), limit]);
  return rows.map((row) => row.task_id);
}

/**
 * Looked up task by task: for one statement over all of them a planner may read every grant. Their order is free, because
 * only the transaction that holds a task's row waits for its grants.
 */
const lockGrants = {
  name: 'lock_grants_of_tasks',
  text: `select grants.* from json_array_elements_text($1::json) as named (task_id) cross join lateral (
      select g.task_id, g.unrecorded from task_grants g where g.task_id = named.task_id for update
    ) grants`,
};

/** Waits for running renewals, so that the counts are final. */
async function withRenewals(run: Run, rows: readonly LiveTaskRow[]): Promise<readonly LiveTask[]> {
  if (rows.length === 0) return [];
  const grants = await run<{ task_id: TaskId; unrecorded: number }>(lockGrants, [
    JSON.stringify(rows.map((row) => row.task_id)),
  ]);
  const unrecorded = new Map<TaskId, number>();
  for (const grant of grants.rows) {
    unrecorded.set(grant.task_id, (unrecorded.get(grant.task_id) ?? 0) + grant.unrecorded);
  }
  return rows.map((row) => ({
    taskId: row.task_id,
    agentId: row.agent_id,
    sponsor: row.sponsor,
    audience: row.audience,
    scope: row.scope,
    delegationDepth: row.delegation_depth,
    createdAt: row.created_at,
    unrecorded: unrecorded.get(row.task_id) ?? 0,
  }));
}
