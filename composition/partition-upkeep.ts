/**
 * The ledger's partitions, created ahead for as long as the service runs (specification "Limits",
 * `Service:Audit:Partitions:MonthsAhead`): a month without one could take no record, and so no decision.
 */

import type { Storage } from '../adapters/persistence/storage.ts';
import type { Clock } from '../application/ports/clock.ts';
import type { Log } from '../application/ports/log.ts';

/** A month ahead there is time for hundreds of failures. */
const INTERVAL_MS = 60 * 60 * 1000;

export function startPartitionUpkeep(
  storage: Pick<Storage, 'createPartitions'>,
  clock: Clock,
  log: Log,
  monthsAhead: number,
): { stop(): void } {
  const create = () =>
    storage.createPartitions(clock.now(), monthsAhead).catch((error: unknown) => {
      log.error("the ledger's partitions could not be created ahead", error);
    });
  void create();
  const timer = setInterval(create, INTERVAL_MS).unref();
  return { stop: () => clearInterval(timer) };
}
