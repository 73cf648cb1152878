/** Converts between approvals and rows of the table `approvals`. */

import type { DueApproval } from '../../../application/decisions/fact.ts';
import type { TaskApproval } from '../../../application/ports/approvals.ts';
import {
  type Approval,
  type ApprovalLine,
  type ApprovalState,
  approvalDetail,
  openStates,
} from '../../../domain/approvals/approval.ts';
import { type ApprovalOrigin, compareApproval } from '../../../domain/approvals/approval-records.ts';
import type { PersonSays } from '../../../domain/approvals/recorded-says.ts';
import type { AgentId, ApprovalId, SponsorKey, TaskId } from '../../../domain/identifiers.ts';
import type { Compared } from '../../../domain/ledger/compared.ts';
import type { RowOf, tables } from '../tables.ts';
import { type ReadRow, storable, storableOrNull } from './column.ts';
import { readRecords, sha256 } from './recorded.ts';

interface ApprovalRow extends ReadRow<typeof tables.approvals> {
  readonly approval_id: ApprovalId;
  readonly task_id: TaskId;
  readonly sponsor_key: SponsorKey;
  readonly state: ApprovalState;
}

/** With the records that name its id (`recordsOfApproval`). */
export interface RecordedApprovalRow extends ApprovalRow {
  readonly records: string | null;
}

export interface TaskApprovalRow extends RecordedApprovalRow {
  readonly task_sponsor_key: SponsorKey;
  readonly agent_id: AgentId;
  readonly display_name: string | null;
  readonly sponsor: string;
  readonly audience: string;
}

/** The condition of an open approval, as in the partial index `approvals_open`. SQLite compares the two word by word. */
export const IS_OPEN = `state in (${openStates.map((state) => `'${state}'`).join(', ')})`;

/** The condition of an approval `v` of an ended task that this end has withdrawn. */
export const IS_WITHDRAWN_BY_END = "v.state = 'withdrawn' and not v.words_changed";

/** Sorts after every id. */
export const LAST_APPROVAL_ID = '~';

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
    words_changed: approval.wordsChanged,
    ...saysColumns(approval.says),
  };
}

/** Why the person said no. */
export function saysColumns(says: PersonSays | undefined) {
  return { says: storableOrNull('says', says?.text), says_salt: says?.salt ?? null };
}

function readApproval(row: ApprovalRow): Approval {
  return {
    approvalId: row.approval_id,
    taskId: row.task_id,
    sponsorKey: row.sponsor_key,
    round: row.round,
    digest: row.digest,
    commitment: row.commitment,
    salt: row.salt,
    title: row.title,
    lines: readLines(row.lines),
    state: row.state,
    requestedAt: row.requested_at,
    expiresAt: row.expires_at,
    decidedAt: row.decided_at ?? undefined,
    closedAt: row.closed_at ?? undefined,
    wordsChanged: Boolean(row.words_changed),
    says: row.says === null ? undefined : { text: row.says, salt: row.says_salt ?? '' },
  };
}

/** Replaces text that is not a list of lines. No request has a line without a label, so no commitment fits. */
const UNREADABLE: readonly ApprovalLine[] = [{ label: '', value: '' }];

/** The owner of the database can store any text. */
function readLines(text: string): readonly ApprovalLine[] {
  try {
    const lines: unknown = JSON.parse(text);
    return Array.isArray(lines) && lines.every(isLine) ? lines : UNREADABLE;
  } catch {
    return UNREADABLE;
  }
}

function isLine(line: Partial<ApprovalLine> | null): line is ApprovalLine {
  return typeof line?.label === 'string' && typeof line.value === 'string';
}

export function toApproval(row: RecordedApprovalRow): Compared<Approval, ApprovalOrigin> {
  return compareApproval(sha256, readApproval(row), readRecords(row.records));
}

/** The row of the task is compared too: the agent's name is read by it. */
export function toTaskApproval(row: TaskApprovalRow): Compared<TaskApproval, ApprovalOrigin> {
  const compared = toApproval(row);
  const { agent_id: agentId, display_name: displayName, sponsor, audience } = row;
  const approval = { ...compared.row, agentId, displayName: displayName ?? undefined, sponsor, audience };
  if (compared.kind === 'differs') return { ...compared, row: approval };
  const { record } = compared;
  const isOfTask = record.agentId === agentId && record.sponsor === sponsor && record.audience === audience;
  if (isOfTask && row.task_sponsor_key === row.sponsor_key) return { kind: 'same', row: approval, record };
  return {
    kind: 'differs',
    row: approval,
    difference: { what: 'approval', id: row.approval_id, how: 'names' },
  };
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
