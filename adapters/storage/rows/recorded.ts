/**
 * The records that rows beside the ledger are compared with, as parts of a query: each row brings its own. So no reader can
 * show a row without the look-up.
 */

import { hash } from 'node:crypto';
import { type ApprovalRecord, approvalEvents } from '../../../domain/approvals/approval-records.ts';
import type { Dialect } from '../dialect.ts';

/** SHA-256 in lowercase hex. */
export const sha256 = (text: string): string => hash('sha256', text, 'hex');

const A_DAY = 24 * 60 * 60;
/** A record is dated at its decision, or at most a minute later; a decision may wait for locks. */
const DATED_WITHIN = 600;

const COLUMNS = ['seq', 'event', 'task_id', 'agent_id', 'sponsor', 'audience', 'reason', 'detail'] as const;

type RecordedRow = Readonly<Record<Exclude<(typeof COLUMNS)[number] | 'scope', 'seq'>, string | null>> & {
  readonly seq: number;
};

/** The index `ledger_by_approval` has these records, by the id that their `detail` begins with. */
const OF_APPROVALS = `l.event in (${approvalEvents.map((event) => `'${event}'`).join(', ')})`;
const APPROVAL_ID = 'substr(l.detail, 10, 35)';

/**
 * The records that name the id of an approval, as a column `records`. On Postgres the bound spares the partitions of earlier
 * months. It is a day before the request, because the clocks of instances differ. SQLite reads an index of an expression only
 * for a value without a type (`+`).
 */
export function recordsOfApproval(dialect: Dialect, row: string): string {
  const { collected, shifted, unindexed } = dialect;
  const found = `select ${COLUMNS.join(', ')} from ledger l
        where ${APPROVAL_ID} = ${unindexed(`${row}.approval_id`)} and ${OF_APPROVALS} and ${unindexed('l.ts')} > ${shifted(`${row}.requested_at`, -A_DAY)}`;
  return `${collected(COLUMNS, found)} as records`;
}

/** The record of a task's purpose, and that of its start. @param row of the task */
export function recordsOfTask(dialect: Dialect, row: string): string {
  const { collected, shifted } = dialect;
  const found = `select ${COLUMNS.join(', ')}, scope from ledger l
        where l.task_id = ${row}.task_id and l.ts > ${shifted(`${row}.created_at`, -DATED_WITHIN)}
          and l.ts < ${shifted(`${row}.created_at`, DATED_WITHIN)} and l.event || '' in ('purpose.stated', 'token.issued')`;
  return `${collected([...COLUMNS, 'scope'], found)} as records`;
}

/**
 * The record of a person's answer at `/oauth2/authorize`, and that of the task which its code opened. Before that, the task has no
 * other record. @param row of the authorization
 */
export function recordsOfAnswer(dialect: Dialect, row: string): string {
  const { collected, shifted } = dialect;
  const found = `select ${COLUMNS.join(', ')}, scope from ledger l
        where l.task_id = ${row}.task_id and l.ts > ${shifted(`${row}.answered_at`, -DATED_WITHIN)}
          and l.ts < ${shifted(`${row}.code_expires_at`, DATED_WITHIN)}
          and l.event || '' in ('authorization.allowed', 'task.authorized')`;
  return `${collected([...COLUMNS, 'scope'], found)} as records`;
}

/** The record of an operator's act, which has its number. The time of the row says nothing: it is not in the record. */
export function recordOfAct(row: string): string {
  return `(select detail from ledger l where l.seq = ${row}.seq and l.event || '' = 'operator.acted' limit 1) as record`;
}

/** @param text of the column `records` */
export function readRecords(
  text: string | null,
): readonly (ApprovalRecord & { readonly scope?: string | undefined })[] {
  const rows = text === null ? [] : (JSON.parse(text) as readonly RecordedRow[]);
  return rows
    .toSorted((one, other) => one.seq - other.seq)
    .map(({ event, task_id, agent_id, sponsor, audience, reason, detail, scope }) => ({
      event: event ?? '',
      taskId: task_id ?? undefined,
      agentId: agent_id ?? undefined,
      sponsor: sponsor ?? undefined,
      audience: audience ?? undefined,
      reason: reason ?? undefined,
      detail: detail ?? undefined,
      scope: scope ?? undefined,
    }));
}
