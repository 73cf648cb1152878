/** Ending tasks before their time on SQLite, with everything delegated from them (specification "Task"). */

import type { TaskId } from '../../../domain/identifiers.ts';
import type { Instant } from '../../../domain/instant.ts';
import type { Revocation } from '../../../domain/tasks/task.ts';
import { type TaskRow, taskColumns } from '../sql/task-row.ts';
import { bindInstant } from './column-types.ts';
import type { Run } from './connections.ts';
import { dateOf, write } from './ledger.ts';

interface DoomedRow extends TaskRow {
  readonly named: number;
  readonly renewals: number;
}

/** Live tasks of the trees below the roots, parents first. The roots come as a JSON array. */
const findDoomed = `
  with recursive tree (task_id, named) as (
    select value, 1 from json_each(?)
    union
    select t.task_id, 0 from tree join tasks t on t.parent_task_id = tree.task_id
  )
  select ${taskColumns.map((column) => `t.${column}`).join(', ')}, max(tree.named) as named,
      coalesce((select sum(renewals) from task_grants g where g.task_id = t.task_id), 0) as renewals
    from tree join tasks t using (task_id) where t.state = 'live' and t.expires_at > ?
    group by t.task_id order by t.created_at, t.task_id`;

const endAll = `update tasks set state = 'revoked', ended_at = ?,
    end_reason = case when task_id in (select value from json_each(?)) then ? else 'parent_revoked' end
  where task_id in (select value from json_each(?))`;

const revokeGrants = `update task_grants set revoked_at = ?
  where task_id in (select value from json_each(?)) and revoked_at is null`;

/**
 * Ends live tasks and answers how many. The roots end with the given reason, also where one was delegated from
 * another; the rest with `parent_revoked`. One whose time is up is not live, swept or not: an expiry is never recorded
 * as a revocation. A task that was renewed more than once has that summed up just before.
 */
export function endTasks(run: Run, roots: readonly TaskId[], { at, reason }: Revocation): number {
  const named = JSON.stringify(roots);
  const { rows } = run<DoomedRow>(findDoomed, [named, bindInstant(at)]);
  const ended = JSON.stringify(rows.map((task) => task.task_id));
  run(endAll, [bindInstant(at), named, reason, ended]);
  run(revokeGrants, [bindInstant(at), ended]);
  const dated = dateOf(run, at);
  for (const task of rows) {
    const about = describe(task, dated);
    if (task.renewals > 1) write(run, { ...about, event: 'token.refreshed', count: task.renewals - 1 });
    write(run, { ...about, event: 'task.revoked', reason: task.named ? reason : 'parent_revoked' });
  }
  return rows.length;
}

function describe(task: TaskRow, at: Instant) {
  return {
    at,
    taskId: task.task_id,
    agentId: task.agent_id,
    sponsor: task.sponsor,
    audience: task.audience,
    scope: task.scope,
    delegationDepth: task.delegation_depth,
    decision: 'allow',
  } as const;
}
