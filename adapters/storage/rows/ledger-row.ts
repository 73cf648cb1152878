/** Converts between ledger entries or records and rows of the `ledger` table. */

import type { UsedTwice } from '../../../application/ports/checkpoints.ts';
import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import type { LedgerDecision, LedgerEntry, LedgerRecord } from '../../../domain/ledger/record.ts';
import type { otherTables } from '../tables.ts';
import { type BindInstant, type Bound, type ReadRow, storableOrNull } from './column.ts';

/** JSON has no exact larger number (schema.sql). */
export const LARGEST = Number.MAX_SAFE_INTEGER;

export const BEYOND = 'the ledger holds a record with a number beyond 2^53 - 1: run `mandate audit-verify`';

/** Selects whether a record has, or the next one would get, a number beyond the safe integers. @param last the last number given */
export function selectBeyond(last: string): string {
  return `select coalesce((${last}) >= ${LARGEST} or (select max(seq) from ledger) > ${LARGEST}, false) as beyond`;
}

/** @param twice selects the numbers that two records have, as `seq`. */
export function selectUsedTwice(twice: string): string {
  const unsealed = 'min(seq) filter (where seq > last_sealed)';
  return `select coalesce(${unsealed}, min(seq)) as seq, ${unsealed} is null as is_sealed
    from (${twice}) twice, (select coalesce(max(last_seq), 0) as last_sealed from checkpoints) sealed`;
}

/** `seq` is null if no two records have one number. SQLite has no booleans. */
export interface UsedTwiceRow {
  readonly seq: number | null;
  readonly is_sealed: boolean | number;
}

export function readUsedTwice([row]: readonly UsedTwiceRow[]): UsedTwice | undefined {
  if (row === undefined || row.seq === null) return undefined;
  return { seq: row.seq, isSealed: Boolean(row.is_sealed) };
}

export interface LedgerRow extends ReadRow<typeof otherTables.ledger> {
  /** The checkpoint that seals the record. */
  readonly checkpoint: number | null;
  readonly decision: LedgerDecision | null;
}

/** Every column of a record but `checkpoint`, in the order of the specification's table. */
export const ledgerColumns = [
  'seq',
  'ts',
  'event',
  'task_id',
  'agent_id',
  'sponsor',
  'audience',
  'scope',
  'jti',
  'delegation_depth',
  'decision',
  'reason',
  'count',
  'detail',
] as const satisfies readonly (keyof LedgerRow)[];

/** Selects a record's checkpoint. Ranges have no gaps, so the first range that ends at or after a number covers it. */
export const SEALED_BY =
  '(select c.checkpoint_id from checkpoints c where c.last_seq >= ledger.seq order by c.last_seq limit 1) as checkpoint';

/** Every column of a record, for a `select` from `ledger`. */
export const RECORD_COLUMNS = [...ledgerColumns.map((column) => `ledger.${column}`), SEALED_BY].join(', ');

type ValuesOf<Columns extends readonly (keyof LedgerRow)[]> = {
  readonly [At in keyof Columns]: LedgerRow[Columns[At]];
};

/** The values of RECORD_COLUMNS. */
export type LedgerValues = readonly [...ValuesOf<typeof ledgerColumns>, LedgerRow['checkpoint']];

/** The columns that an append writes, in the order of `entryValues`. */
export const entryColumns = ledgerColumns.slice(1);

export function entryValues(entry: LedgerEntry, instant: BindInstant): readonly Bound[] {
  return [
    instant(entry.at),
    entry.event,
    entry.taskId ?? null,
    entry.agentId ?? null,
    storableOrNull('sponsor', entry.sponsor),
    storableOrNull('audience', entry.audience),
    storableOrNull('scope', entry.scope),
    entry.jti ?? null,
    entry.delegationDepth ?? null,
    entry.decision,
    storableOrNull('reason', entry.reason),
    entry.count ?? null,
    storableOrNull('detail', entry.detail),
  ];
}

/** @throws StorageUnavailable for a number that was rounded: no reader may get a record under another number */
export function toLedgerRecord(row: LedgerRow): LedgerRecord {
  if (!Number.isSafeInteger(row.seq)) throw new StorageUnavailable(BEYOND);
  return {
    seq: row.seq,
    checkpoint: row.checkpoint ?? undefined,
    at: row.ts,
    event: row.event,
    taskId: row.task_id ?? undefined,
    agentId: row.agent_id ?? undefined,
    sponsor: row.sponsor ?? undefined,
    audience: row.audience ?? undefined,
    scope: row.scope ?? undefined,
    jti: row.jti ?? undefined,
    delegationDepth: row.delegation_depth ?? undefined,
    decision: row.decision ?? undefined,
    reason: row.reason ?? undefined,
    count: row.count ?? undefined,
    detail: row.detail ?? undefined,
  };
}

/** Lists the values: spreading them takes ten times as long, and a verification reads millions of rows. */
export function readLedgerValues(values: LedgerValues): LedgerRecord {
  return toLedgerRecord({
    seq: values[0],
    ts: values[1],
    event: values[2],
    task_id: values[3],
    agent_id: values[4],
    sponsor: values[5],
    audience: values[6],
    scope: values[7],
    jti: values[8],
    delegation_depth: values[9],
    decision: values[10],
    reason: values[11],
    count: values[12],
    detail: values[13],
    checkpoint: values[14],
  });
}
