/** `audit.archived` records, as `audit-archive` writes them, as an earlier release did, and as an owner might forge them. */

import { instantFromMillis } from '../../../domain/instant.ts';
import type { DepartedMonth } from '../../../domain/ledger/archived-part.ts';
import { archivedEntry } from '../../../domain/ledger/archiving.ts';
import type { LedgerEntry } from '../../../domain/ledger/record.ts';
import type { Month } from '../../../domain/ledger/time-range.ts';

export const atTime = (text: string) => instantFromMillis(Date.parse(text));

const SHA256 = 'ab'.repeat(32);

type Range = readonly [first: number, last: number];

/** @param checkpoints and `sequence` are `undefined` for a month without records */
export function departedMonth(month: string, checkpoints?: Range, sequence?: Range): DepartedMonth {
  const range = (given: Range | undefined) => given && { first: given[0], last: given[1] };
  return {
    month: month as Month,
    checkpoints: range(checkpoints),
    sequence: range(sequence),
    sha256: SHA256,
  };
}

/** @param months oldest first; the last one is the month of this record */
export function archivingOf(at: string, ...months: readonly DepartedMonth[]): LedgerEntry {
  const month = months.at(-1) ?? departedMonth('2026-01');
  const partition = `ledger_${month.month?.replace('-', '_')}`;
  const location = `/exports/audit-${month.month}.service-archive.gz`;
  return archivedEntry(atTime(at), { partition, month, location, before: months.slice(0, -1) });
}

/** The record of an earlier release: it names only the month that left. */
export function oldArchivingOf(at: string, month: DepartedMonth): LedgerEntry {
  const { before: _none, ...said } = JSON.parse(archivingOf(at, month).detail ?? '');
  return { ...archivingOf(at, month), detail: JSON.stringify(said) };
}
