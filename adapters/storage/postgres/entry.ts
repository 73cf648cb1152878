/** How a ledger entry is passed to our functions: as one value of the composite type `ledger_entry`. */

import type { LedgerEntry } from '../../../domain/ledger/record.ts';
import type { Bound } from '../rows/column.ts';
import { entryColumns, entryValues } from '../rows/ledger-row.ts';
import { bindInstant } from './column-types.ts';

/** `$1, $2, …`: parameters from number `first` on. */
export function parameters(first: number, count: number): string {
  return Array.from({ length: count }, (_, index) => `$${first + index}`).join(', ');
}

export function entryParameter(first: number): string {
  return `row(${parameters(first, entryColumns.length)})::ledger_entry`;
}

export function boundEntry(entry: LedgerEntry): readonly Bound[] {
  return entryValues(entry, bindInstant);
}
