/**
 * One pass over tasks whose time is up (specification "Task": live, `task.exp` passes). Nothing waits for it: who asks
 * about such a task is told that it has expired, swept or not. It makes the ledger say so, once per task.
 */

import { plusSeconds } from '../../domain/instant.ts';
import type { Clock } from '../ports/clock.ts';
import type { Sweeping } from '../ports/sweeping.ts';
import type { Turn } from '../ports/turn.ts';

export interface TaskExpiry {
  readonly sweeping: Pick<Sweeping, 'expire'>;
  readonly clock: Clock;
  readonly turn: Turn;
  /** Tasks per transaction: `Service:Tasks:SweepBatchSize`. */
  readonly batchSize: number;
  /**
   * Seconds that a task must be over for, by which this clock may be ahead of another instance's: an end that is stored
   * is one for everybody, and for none may it come before its time.
   */
  readonly clockAheadBy: number;
}

/**
 * Batch after batch, until all that was over when the pass began is recorded, by this instance or by another; or until
 * `mayGoOn` says no. So a pass ends even where tasks expire as fast as they are swept, and however far apart passes
 * are, none leaves anything for the next. Each batch is a transaction of its own, and other requests have their turn in
 * between. What other instances are sweeping is passed over, not waited for.
 *
 * @throws StorageUnavailable
 */
export async function expireTasks(service: TaskExpiry, mayGoOn: () => boolean = () => true): Promise<number> {
  const { sweeping, clock, turn, batchSize, clockAheadBy } = service;
  const overBy = plusSeconds(clock.now(), -clockAheadBy);
  let expired = 0;
  while (mayGoOn()) {
    const swept = await sweeping.expire({ overBy, at: clock.now() }, batchSize);
    expired += swept;
    if (swept < batchSize) break;
    await turn();
  }
  return expired;
}
