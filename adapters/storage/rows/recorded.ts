/**
 * The records that rows beside the ledger are compared with, as parts of a query: each row brings its own. So no reader can
 * show a row without the look-up.
 */

import { hash } from 'node:crypto';
import { type ApprovalRecord, approvalEvents } from '../../../domain/approvals/approval-records.ts';
import type { Dialect } from '../dialect.ts';

/** SHA-256 in lowercase hex. */
export const sha256 = (text: string): string => hash('sha256', text, 'hex');

const COLUMNS = ['seq', 'event', 'task_id', 'agent_id', 'sponsor', 'audience', 'detail'] as const;

type RecordedRow = Readonly<Record<Exclude<(typeof COLUMNS)[number], 'seq'>, string | null>> & { readonly seq: number };

/** The index `ledger_by_approval` has these records, by the id that their `detail` begins with. */
const OF_APPROVALS = `l.event in (${approvalEvents.map((event) => `'${event}'`).join(', ')})`;
const APPROVAL_ID = 'substr(l.detail, 10, 35)';

/**
 * The records that name the id of an approval, as a column `records`. On Postgres the bound spares the partitions of earlier
 * months. It is a day before the request, because the clocks of instances differ. SQLite reads an index of an expression only
 * for a value without a type (`+`).
 */
export function recordsOfApproval({ collected, dayBefore, unindexed }: Dialect, row: string): string {
  const found = `select ${COLUMNS.join(', ')} from ledger l
        where ${APPROVAL_ID} = ${unindexed(`${row}.approval_id`)} and ${OF_APPROVALS} and ${unindexed('l.ts')} > ${dayBefore(`${row}.requested_at`)}`;
  return `${collected(COLUMNS, found)} as records`;
}

/** @param text of the column `records` */
export function readRecords(text: string | null): readonly ApprovalRecord[] {
  const rows = text === null ? [] : (JSON.parse(text) as readonly RecordedRow[]);
  return rows
    .toSorted((one, other) => one.seq - other.seq)
    .map(({ event, task_id, agent_id, sponsor, audience, detail }) => ({
      event: event ?? '',
      taskId: task_id ?? undefined,
      agentId: agent_id ?? undefined,
      sponsor: sponsor ?? undefined,
      audience: audience ?? undefined,
      detail: detail ?? undefined,
    }));
}
