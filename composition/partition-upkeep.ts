/**
 * Creates the ledger's partitions ahead while the service runs (specification "Limits",
 * `Service:Audit:Partitions:MonthsAhead`). In a month without a partition no record could be written, so no request
 * decided.
 */

import type { Storage } from '../adapters/storage/storage.ts';
import type { Clock } from '../application/ports/runtime.ts';
import type { RecurringPass } from './recurring.ts';

/** Partitions are created a month ahead, so hundreds of failures are tolerable. */
const INTERVAL_MS = 60 * 60 * 1000;

/** @param monthsAhead `Service:Audit:Partitions:MonthsAhead` */
export function partitionUpkeep(
  storage: Pick<Storage, 'createPartitions'>,
  clock: Clock,
  monthsAhead: number,
): RecurringPass {
  return {
    name: "creating the ledger's partitions ahead",
    intervalMs: INTERVAL_MS,
    firstAfterMs: 0,
    run: () => storage.createPartitions(clock.now(), monthsAhead),
  };
}
