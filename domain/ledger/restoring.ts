/** What `mandate after-restore` writes: the numbers that are passed over, and its record. */

import type { Instant } from '../instant.ts';
import type { LedgerEntry } from './record.ts';

/** More records than a sink or an export can be behind. */
const PASSED_NUMBERS = 1_000_000;

/**
 * A number further above the ledger is a mistake, or a forged line in the sink's file: numbers are never used again, and the
 * last one ends the ledger. Ten thousand records a second take three years to get there.
 */
const FARTHEST = 1_000_000_000_000;

/** The last number that is passed over. `undefined` if `above` is too far, or the next one beyond the safe integers. */
export function movedOn(taken: number, above: number): number | undefined {
  if (above - taken > FARTHEST) return undefined;
  const to = Math.max(taken, above) + PASSED_NUMBERS;
  return Number.isSafeInteger(to + 1) ? to : undefined;
}

/** The `detail` has the last number before the restore, and the last number that was passed over. */
export function restoredEntry(at: Instant, from: number, to: number): LedgerEntry {
  return { at, event: 'database.restored', decision: 'allow', detail: JSON.stringify({ from, to }) };
}
