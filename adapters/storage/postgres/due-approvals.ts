/** Reads the approvals whose time is up, and locks them and the rows of their tasks until the transaction ends. */

import type { About, Answer } from '../../../application/decisions/fact.ts';
import { DUE_COLUMNS, type DueApprovalRow, IS_OPEN, toDueApproval } from '../rows/approval-row.ts';
import { bindInstant } from './column-types.ts';
import type { Run } from './pool/pool.ts';

/**
 * It waits for no lock: a row that another transaction holds is left to the next pass. The lock of the approval's row makes
 * Postgres read the row again, so that its state is the current one; the lock of the task's row keeps other decisions from
 * changing it.
 */
const dueApprovals = {
  name: 'due_approvals',
  text: `with due as materialized (
      select approval_id, task_id, digest, commitment, decided_at, expires_at from approvals
        where ${IS_OPEN} and closed_at is null and expires_at <= $1
        order by expires_at limit $2 for update skip locked
    )
    select ${DUE_COLUMNS} from due v cross join lateral (
      select agent_id, sponsor, audience from tasks
        where task_id = v.task_id and expires_at > v.expires_at for update skip locked
    ) t`,
};

export async function readDueApprovals(
  run: Run,
  { overBy, limit }: About<'due_approvals'>,
): Promise<Answer<'due_approvals'>> {
  const { rows } = await run<DueApprovalRow>(dueApprovals, [bindInstant(overBy), limit]);
  return rows.map(toDueApproval);
}
