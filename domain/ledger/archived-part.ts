/**
 * What has left the ledger, as a sealed `audit.archived` record says it. The rows of `ledger_archives` are not sealed, so
 * they say nothing about records that are missing.
 *
 * Each record names all that has left so far, from checkpoint 1, so a reader needs the newest one alone. An earlier release
 * named only the month that left. It archived from checkpoint 1 on, without a gap, so its record also says that all
 * checkpoints before had left.
 */

import type { Instant } from '../instant.ts';
import { isObject } from '../tokens/strict-json.ts';
import type { Checkpoint } from './checkpoint.ts';
import type { LedgerRecord } from './record.ts';
import { type Month, nextMonth, parseMonth, startOfMonth } from './time-range.ts';
import { mayReachAfter, mayReachBefore } from './verification.ts';

/** Numbers with both ends inclusive. */
interface Range {
  readonly first: number;
  readonly last: number;
}

/** An export, or all that an earlier release archived and that no record names any more. */
export interface DepartedMonth {
  readonly month: Month | undefined;
  /** `undefined` if there was nothing to export. */
  readonly checkpoints: Range | undefined;
  readonly sequence: Range | undefined;
  /** Hash of the export file; lowercase hex. */
  readonly sha256: string | undefined;
}

/** An `audit.archived` record. */
export type ArchivingRecord = Pick<LedgerRecord, 'seq' | 'at' | 'event' | 'detail'>;

export interface ArchivedPart {
  readonly record: ArchivingRecord;
  /** From checkpoint 1, without a gap. */
  readonly months: readonly DepartedMonth[];
  /** The last checkpoint that was exported, with the last number of its range; 0 if no checkpoint was. */
  readonly lastCheckpoint: number;
  readonly lastSeq: number;
  /** The start of the first month that stays. */
  readonly before: Instant;
}

const PARTITION = /^ledger_(\d{4})_(\d{2})$/;

/** The month of a partition of the ledger; `undefined` for a table that Mandate did not create. */
export function monthOfPartition(name: unknown): Month | undefined {
  const [, year, month] = (typeof name === 'string' ? PARTITION.exec(name) : null) ?? [];
  return parseMonth(`${year}-${month}`);
}

/** The part that an `audit.archived` record names; `undefined` for every other record. Whether it is sealed is not checked. */
export function archivedPart(record: ArchivingRecord): ArchivedPart | undefined {
  const { event, detail, at, seq } = record;
  const said = event === 'audit.archived' && detail !== undefined ? parsed(detail) : undefined;
  if (!isObject(said)) return undefined;
  const month = monthOfPartition(said.partition);
  const own = month && departed({ ...said, month });
  const before = said.before === undefined ? gapBefore(own) : departedList(said.before);
  if (month === undefined || own === undefined || before === undefined) return undefined;
  const months = [...before, own];
  const end = endOf(months);
  const isOver = at >= startOfMonth(nextMonth(month));
  // What a record names was exported before, so it lies below the record's own number.
  if (end === undefined || !isOver || seq <= end.lastSeq) return undefined;
  return { record, months, ...end, before: startOfMonth(nextMonth(month)) };
}

/**
 * The part without the record's own month. The record precedes the drop of that month, so until then this part is what has left.
 * `undefined` if nothing has left.
 */
export function withoutOwnMonth({ record, months }: ArchivedPart): ArchivedPart | undefined {
  const [earlier, own] = [months.slice(0, -1), months.at(-1)];
  const end = endOf(earlier);
  if (own?.month === undefined || end === undefined || end.lastCheckpoint === 0) return undefined;
  return { record, months: earlier, ...end, before: startOfMonth(own.month) };
}

/** The part that names the most; of equals the one of the newest record. */
export function largestPart(parts: readonly (ArchivedPart | undefined)[]): ArchivedPart | undefined {
  return parts.reduce((one, other) => (one === undefined || (other && isLarger(other, one)) ? other : one), undefined);
}

function isLarger(one: ArchivedPart, other: ArchivedPart): boolean {
  if (one.lastCheckpoint !== other.lastCheckpoint) return one.lastCheckpoint > other.lastCheckpoint;
  return one.before === other.before ? one.record.seq > other.record.seq : one.before > other.before;
}

/** The largest part that a sealed record names. "Sealed" by its number alone: the caller has to verify the checkpoint. */
export function sealedPart(records: readonly LedgerRecord[]): ArchivedPart | undefined {
  return largestPart(
    records.filter(({ checkpoint }) => checkpoint !== undefined).map((record) => archivedPart(record)),
  );
}

/** Whether the part names this checkpoint, with the range that was signed. */
export function namesCheckpoint(
  part: ArchivedPart | undefined,
  { checkpointId, lastSeq }: Pick<Checkpoint, 'checkpointId' | 'lastSeq'>,
): boolean {
  if (part === undefined || checkpointId > part.lastCheckpoint) return false;
  const ending = part.months.find(({ checkpoints }) => checkpoints?.last === checkpointId);
  return ending === undefined || ending.sequence?.last === lastSeq;
}

/**
 * Whether a checkpoint of the part may still have records. Only a checkpoint across the end of the last month may, by the signed
 * times. Its records must be of a month that stays.
 */
export function mayKeepRecords(
  { before }: ArchivedPart,
  { closedAt }: Pick<Checkpoint, 'closedAt'>,
  previous: Pick<Checkpoint, 'closedAt'> | undefined,
): boolean {
  return mayReachBefore(previous, before) && mayReachAfter(closedAt, before);
}

/**
 * All that left before a month, from checkpoint 1; `undefined` if the records contradict each other. Records of
 * an earlier release name one month each, and may have left with a later month. Months that no record names are one entry.
 */
export function departedBefore(parts: readonly ArchivedPart[], month: Month): readonly DepartedMonth[] | undefined {
  const named = new Map<Month, DepartedMonth>();
  for (const part of [...parts].sort((one, other) => one.record.seq - other.record.seq)) {
    for (const one of part.months) if (one.month !== undefined && one.month < month) named.set(one.month, one);
  }
  const months = [...named].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, one]) => one);
  const gap = gapBefore(months.find(({ checkpoints }) => checkpoints !== undefined));
  const all = gap && [...gap, ...months];
  return all && endOf(all) === undefined ? undefined : all;
}

/** An entry for the checkpoints before the first one that is named. */
function gapBefore(first: DepartedMonth | undefined): readonly DepartedMonth[] | undefined {
  const { checkpoints, sequence } = first ?? {};
  if (checkpoints === undefined || sequence === undefined || checkpoints.first === 1) return [];
  if (sequence.first === 1) return undefined;
  const upTo = (last: number) => ({ first: 1, last: last - 1 });
  return [
    { month: undefined, checkpoints: upTo(checkpoints.first), sequence: upTo(sequence.first), sha256: undefined },
  ];
}

/** The end of ranges that follow each other from 1; `undefined` if they do not, or if the months are out of order. */
export function endOf(months: readonly DepartedMonth[]): Pick<ArchivedPart, 'lastCheckpoint' | 'lastSeq'> | undefined {
  let end = { lastCheckpoint: 0, lastSeq: 0 };
  let latest: Month | undefined;
  for (const { month, checkpoints, sequence } of months) {
    if (latest !== undefined && (month === undefined || month <= latest)) return undefined;
    latest = month ?? latest;
    if (checkpoints === undefined || sequence === undefined) continue;
    if (checkpoints.first !== end.lastCheckpoint + 1 || sequence.first !== end.lastSeq + 1) return undefined;
    end = { lastCheckpoint: checkpoints.last, lastSeq: sequence.last };
  }
  return end;
}

function parsed(detail: string): unknown {
  try {
    return JSON.parse(detail);
  } catch {
    return undefined;
  }
}

function departedList(value: unknown): readonly DepartedMonth[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const months = value.map((each) => (isObject(each) ? departed(each) : undefined));
  return months.every((each) => each !== undefined) ? months : undefined;
}

function departed({ month, checkpoints, sequence, sha256 }: Readonly<Record<string, unknown>>) {
  const ranges = { checkpoints: rangeOf(checkpoints), sequence: rangeOf(sequence) };
  const isNamed = month === null || (typeof month === 'string' && parseMonth(month) !== undefined);
  if (!isNamed || ranges.checkpoints === 'malformed' || ranges.sequence === 'malformed') return undefined;
  if ((ranges.checkpoints === undefined) !== (ranges.sequence === undefined)) return undefined;
  const made: DepartedMonth = {
    month: month === null ? undefined : (month as Month),
    checkpoints: ranges.checkpoints,
    sequence: ranges.sequence,
    sha256: typeof sha256 === 'string' ? sha256 : undefined,
  };
  return made;
}

function rangeOf(value: unknown): Range | undefined | 'malformed' {
  if (value === null) return undefined;
  if (!isObject(value)) return 'malformed';
  const { first, last } = value;
  const isRange = isNumber(first) && isNumber(last) && first <= last;
  return isRange ? { first, last } : 'malformed';
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1;
}
