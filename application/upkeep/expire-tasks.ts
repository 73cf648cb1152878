/**
 * One pass over tasks whose time is up (specification "Task": live, `task.exp` passes). Nothing waits for it: who asks
 * about such a task is told that it has expired, swept or not. It makes the ledger say so, once per task.
 */

import type { Clock } from '../ports/clock.ts';
import type { Sweeping } from '../ports/sweeping.ts';

export interface TaskExpiry {
  readonly sweeping: Pick<Sweeping, 'expire'>;
  readonly clock: Clock;
  /** Tasks per transaction: `Service:Tasks:SweepBatchSize`. */
  readonly batchSize: number;
}

/** So that a pass ends even where tasks expire as fast as they are swept; the next one goes on. */
const MAX_BATCHES = 5000;

/**
 * Batch after batch, until one is not full any more or `mayGoOn` says no. Each is a transaction of its own, and other
 * requests have their turn in between. What other instances are sweeping is passed over, not waited for.
 *
 * @throws StorageUnavailable
 */
export async function expireTasks(service: TaskExpiry, mayGoOn: () => boolean = () => true): Promise<number> {
  const { sweeping, clock, batchSize } = service;
  let expired = 0;
  for (let batch = 0; batch < MAX_BATCHES && mayGoOn(); batch += 1) {
    const swept = await sweeping.expire(clock.now(), batchSize);
    expired += swept;
    if (swept < batchSize) break;
  }
  return expired;
}
