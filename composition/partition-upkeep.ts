/**
 * The ledger's partitions, created ahead for as long as the service runs (specification "Limits",
 * `Service:Audit:Partitions:MonthsAhead`): a month without one could take no record, and so no decision.
 */

import type { Storage } from '../adapters/storage/storage.ts';
import type { Clock } from '../application/ports/clock.ts';
import type { RecurringPass } from './recurring.ts';

/** A month ahead there is time for hundreds of failures. */
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
