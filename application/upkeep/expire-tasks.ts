/**
 * One pass over expired tasks (specification "Task": live, `task.exp` passes). No request depends on it: an expired
 * task is refused whether or not it was swept. The pass records each expiry in the ledger, once per task.
 */

import { plusSeconds } from '../../domain/instant.ts';
import { expireDueTasks } from '../decisions/sweep.ts';
import type { Decisions } from '../ports/decisions.ts';
import type { Clock, Turn } from '../ports/runtime.ts';

export interface TaskExpiry {
  readonly decisions: Decisions;
  readonly clock: Clock;
  readonly turn: Turn;
  /** Tasks per transaction: `Service:Tasks:SweepBatchSize`. */
  readonly batchSize: number;
  /**
   * Seconds by which this instance's clock may be ahead of another's. Only tasks that expired at least that long ago
   * are swept: a stored expiry holds for every instance, and for none may it come early.
   */
  readonly clockAheadBy: number;
}

/**
 * Sweeps in batches until every task that had expired when the pass began is recorded, by any instance. It stops earlier
 * if `shouldContinue` returns false. A pass so ends even if tasks expire as fast as they are swept, and leaves nothing for
 * the next one. Each batch is its own transaction; between batches the pass yields to other requests. Tasks that other
 * instances are sweeping are skipped without waiting.
 *
 * @throws StorageUnavailable
 */
export async function expireTasks(service: TaskExpiry, shouldContinue: () => boolean = () => true): Promise<number> {
  const { decisions, clock, turn, batchSize, clockAheadBy } = service;
  const overBy = plusSeconds(clock.now(), -clockAheadBy);
  let expired = 0;
  while (shouldContinue()) {
    const swept = await decisions.decide(expireDueTasks, { overBy, at: clock.now(), limit: batchSize });
    expired += swept;
    if (swept < batchSize) break;
    await turn();
  }
  return expired;
}
