/** Converts between approvals and rows of the table `approvals`. */

import type { ApprovalStanding, DueApproval } from '../../../application/decisions/fact.ts';
import type { TaskApproval } from '../../../application/ports/approvals.ts';
import {
  type Approval,
  type ApprovalLine,
  type ApprovalState,
  approvalDetail,
} from '../../../domain/approvals/approval.ts';
import type { AgentId, ApprovalId, SponsorKey, TaskId } from '../../../domain/identifiers.ts';
import type { Instant } from '../../../domain/instant.ts';
import type { RowOf, tables } from '../tables.ts';
import { storable } from './column.ts';

interface ApprovalRow {
  readonly approval_id: ApprovalId;
  readonly task_id: TaskId;
  readonly sponsor_key: SponsorKey;
  readonly round: number;
  readonly digest: string;
  readonly commitment: string;
  readonly salt: string;
  readonly title: string;
  /** JSON text. */
  readonly lines: string;
  readonly state: ApprovalState;
  readonly requested_at: Instant;
  readonly expires_at: Instant;
  readonly decided_at: Instant | null;
  readonly closed_at: Instant | null;
}

export interface TaskApprovalRow extends ApprovalRow {
  readonly agent_id: AgentId;
  readonly display_name: string | null;
  readonly sponsor: string;
  readonly audience: string;
}

/** The columns of an approval without its words. */
export const standingColumns = [
  'approval_id',
  'task_id',
  'sponsor_key',
  'round',
  'digest',
  'commitment',
  'state',
  'expires_at',
  'decided_at',
  'closed_at',
] as const satisfies readonly (keyof ApprovalRow)[];

export type StandingRow = Pick<ApprovalRow, (typeof standingColumns)[number]>;

/** The `detail` of a record about the row `v`, as SQL. */
export const DETAIL_OF_ROW = `'${approvalDetail({
  approvalId: "' || v.approval_id || '",
  digest: "' || v.digest || '",
  commitment: "' || v.commitment || '",
})}'`;

export function approvalRow(approval: Approval): RowOf<typeof tables.approvals> {
  return {
    approval_id: approval.approvalId,
    task_id: approval.taskId,
    sponsor_key: storable('sponsor_key', approval.sponsorKey),
    round: approval.round,
    digest: approval.digest,
    commitment: approval.commitment,
    salt: approval.salt,
    title: storable('title', approval.title),
    lines: storable('lines', JSON.stringify(approval.lines)),
    state: approval.state,
    requested_at: approval.requestedAt,
    expires_at: approval.expiresAt,
    decided_at: approval.decidedAt ?? null,
    closed_at: approval.closedAt ?? null,
  };
}

export function toStanding(row: StandingRow): ApprovalStanding {
  return {
    approvalId: row.approval_id,
    taskId: row.task_id,
    sponsorKey: row.sponsor_key,
    round: row.round,
    digest: row.digest,
    commitment: row.commitment,
    state: row.state,
    expiresAt: row.expires_at,
    decidedAt: row.decided_at ?? undefined,
    closedAt: row.closed_at ?? undefined,
  };
}

export function toApproval(row: ApprovalRow): Approval {
  const lines = JSON.parse(row.lines) as readonly ApprovalLine[];
  return { ...toStanding(row), title: row.title, lines, salt: row.salt, requestedAt: row.requested_at };
}

export function toTaskApproval(row: TaskApprovalRow): TaskApproval {
  const { agent_id: agentId, display_name: displayName, sponsor, audience } = row;
  return { ...toApproval(row), agentId, displayName: displayName ?? undefined, sponsor, audience };
}

/** The columns of a due approval, of the row `v` and of its task `t`. */
export const DUE_COLUMNS =
  'v.approval_id, v.task_id, v.digest, v.commitment, v.decided_at, t.agent_id, t.sponsor, t.audience';

export type DueApprovalRow = Pick<
  TaskApprovalRow,
  'approval_id' | 'task_id' | 'digest' | 'commitment' | 'decided_at' | 'agent_id' | 'sponsor' | 'audience'
>;

export function toDueApproval(row: DueApprovalRow): DueApproval {
  return {
    approvalId: row.approval_id,
    taskId: row.task_id,
    digest: row.digest,
    commitment: row.commitment,
    decidedAt: row.decided_at ?? undefined,
    agentId: row.agent_id,
    sponsor: row.sponsor,
    audience: row.audience,
  };
}

/**
 * After a restore. Whether the agent used a yes since the backup is lost. The sweeper records that these yeses have expired.
 */
export const EXPIRE_UNUSED = "update approvals set expires_at = decided_at where state = 'granted'";
