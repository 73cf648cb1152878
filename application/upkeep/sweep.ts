/** The passes that expire tasks and delete old rows. No request depends on them. */

import { plusSeconds } from '../../domain/instant.ts';
import { deleteEndedTasks, expireDueTasks } from '../decisions/sweep.ts';
import type { Decisions } from '../ports/decisions.ts';
import type { Clock, Turn } from '../ports/runtime.ts';
import type { Sweeping } from '../ports/storage.ts';

interface TaskExpiry {
  readonly decisions: Decisions;
  readonly clock: Clock;
  readonly turn: Turn;
  /** Tasks per transaction: `Service:Tasks:SweepBatchSize`. */
  readonly batchSize: number;
  /**
   * Seconds by which this instance's clock may be ahead of another's. Only tasks that expired at least that long ago
   * are swept: a stored expiry counts for every instance, so it must not come early for any.
   */
  readonly clockAheadBy: number;
}

/**
 * Records each expiry in the ledger, once per task (specification "Task": live, `task.exp` passes). An expired task is
 * refused whether or not it was swept.
 *
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

interface Forgetting {
  readonly decisions: Decisions;
  readonly sweeping: Sweeping;
  readonly clock: Clock;
  readonly turn: Turn;
  /** Seconds: `Service:Tasks:Retention`. */
  readonly retention: number;
}

/**
 * Instances' clocks differ by at most a minute (docs/decisions/0001-ledger-paging.md). This instance may consider a row
 * expired while another would still accept its token, so a row is deleted only after that minute.
 */
const CLOCKS_DIFFER_BY_SECONDS = 60;

/** Rows per transaction and kind: a transaction takes some milliseconds. */
const BATCH_SIZE = 200;

/**
 * Deletes tasks that ended more than the retention ago (specification "Task (stored)"), and expired rows that were kept
 * only to prevent a second use.
 *
 * Deletes every row that was old enough when the pass began, unless `shouldContinue` returns false before. The pass therefore
 * ends, and leaves nothing for the next one. Rows that other instances are deleting are left to them.
 *
 * @throws StorageUnavailable
 */
export async function forgetEnded(service: Forgetting, shouldContinue: () => boolean = () => true): Promise<void> {
  const { decisions, sweeping, clock, turn, retention } = service;
  const now = clock.now();
  const uselessBy = plusSeconds(now, -CLOCKS_DIFFER_BY_SECONDS);
  const endedBy = plusSeconds(now, -retention);

  /** Repeats until a batch is empty, not just small: deleting a delegated task makes its parent deletable. */
  async function inBatches(batch: () => Promise<number>): Promise<void> {
    while (shouldContinue() && (await batch()) > 0) await turn();
  }
  await inBatches(() => decisions.decide(deleteEndedTasks, { endedBy, limit: BATCH_SIZE }));
  await inBatches(() => sweeping.forget(uselessBy, BATCH_SIZE));
}
