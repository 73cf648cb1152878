/** Ending tasks before their time on SQLite, with everything delegated from them (specification "Task"). */

import type { TaskId } from '../../../domain/identifiers.ts';
import type { LedgerEntry } from '../../../domain/ledger/record.ts';
import type { Revocation, RevocationReason } from '../../../domain/tasks/task.ts';
import type { TaskRow } from '../sql/task-row.ts';
import { bindInstant } from './column-types.ts';
import type { Run } from './connections.ts';
import { append } from './ledger.ts';

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
  select t.*, max(tree.named) as named,
      coalesce((select sum(renewals) from task_grants g where g.task_id = t.task_id and revoked_at is null), 0) as renewals
    from tree join tasks t using (task_id) where t.state = 'live'
    group by t.task_id order by t.created_at, t.task_id`;

const endTask = "update tasks set state = 'revoked', ended_at = ?, end_reason = ? where task_id = ?";

const revokeGrants = 'update task_grants set revoked_at = ? where task_id = ? and revoked_at is null';

/**
 * Ends live tasks and answers how many. The roots end with the given reason, also where one was delegated from
 * another; the rest with `parent_revoked`. A task that was renewed more than once has that summed up just before.
 */
export function endTasks(run: Run, roots: readonly TaskId[], { at, reason }: Revocation): number {
  const { rows } = run<DoomedRow>(findDoomed, [JSON.stringify(roots)]);
  for (const task of rows) {
    const why: RevocationReason = task.named ? reason : 'parent_revoked';
    run(endTask, [bindInstant(at), why, task.task_id]);
    run(revokeGrants, [bindInstant(at), task.task_id]);
    const about = describe(task, at);
    if (task.renewals > 1) append(run, { ...about, event: 'token.refreshed', count: task.renewals - 1 });
    append(run, { ...about, event: 'task.revoked', reason: why });
  }
  return rows.length;
}

function describe(task: TaskRow, at: LedgerEntry['at']) {
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
