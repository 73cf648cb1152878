/**
 * The passes that expire tasks and delete old rows. No request depends on them. clock-watch.ts gives them their time:
 * it compares this instance's clock with the database's, and stops them if a clock is wrong.
 */

import { type Instant, plusSeconds } from '../../domain/instant.ts';
import { type DueTasks, deleteEndedTasks, expireDueApprovals, expireDueTasks } from '../decisions/sweep.ts';
import type { Decisions } from '../ports/decisions.ts';
import type { Clock, Turn } from '../ports/runtime.ts';
import type { Sweeping } from '../ports/storage.ts';

interface TaskExpiry {
  readonly decisions: Decisions;
  /** Dates the records. */
  readonly clock: Clock;
  /** The time by which tasks end, when the pass begins (`clock-watch.ts`, `endingTime`). */
  readonly endingTime: Instant;
  readonly turn: Turn;
  /** Tasks per transaction: `Service:Tasks:SweepBatchSize`. */
  readonly batchSize: number;
  /**
   * Seconds by which `endingTime` may be ahead of another instance's clock. Only tasks that expired at least that long ago
   * are swept: a stored expiry ends the task for every instance, so it must not come early for any.
   */
  readonly clockAheadBy: number;
}

/**
 * Records each expiry in the ledger, once per task (specification "Task": live, `task.exp` passes). An expired task is
 * refused whether or not it was swept.
 *
 * A pass sweeps in batches until every task that had expired when the pass began is recorded, or until `shouldContinue`
 * returns false. So it ends even if tasks expire as fast as they are swept. Each batch is its own transaction; between
 * batches the pass yields to requests. It skips tasks that another instance is sweeping.
 *
 * @throws StorageUnavailable
 */
export function expireTasks(service: TaskExpiry, shouldContinue?: () => boolean): Promise<number> {
  return expire(service, (due) => service.decisions.decide(expireDueTasks, due), shouldContinue);
}

/**
 * Records the expiry of each open approval whose time is up, in the same way. Those that end with their task are left to the
 * task's expiry, so this comes after {@link expireTasks}.
 *
 * @throws StorageUnavailable
 */
export function expireApprovals(service: TaskExpiry, shouldContinue?: () => boolean): Promise<number> {
  return expire(service, (due) => service.decisions.decide(expireDueApprovals, due), shouldContinue);
}

async function expire(
  { clock, endingTime, turn, batchSize, clockAheadBy }: TaskExpiry,
  sweep: (due: DueTasks) => Promise<number>,
  shouldContinue: () => boolean = () => true,
): Promise<number> {
  const overBy = plusSeconds(endingTime, -clockAheadBy);
  let expired = 0;
  while (shouldContinue()) {
    const swept = await sweep({ overBy, at: clock.now(), limit: batchSize });
    expired += swept;
    if (swept < batchSize) break;
    await turn();
  }
  return expired;
}

interface Forgetting {
  readonly decisions: Decisions;
  readonly sweeping: Sweeping;
  /** The time by which rows are old, when the pass begins (`clock-watch.ts`, `endingTime`). */
  readonly endingTime: Instant;
  readonly turn: Turn;
  /** Seconds: `Service:Tasks:Retention`. */
  readonly retention: number;
}

/**
 * When a row is expired by both clocks of this instance, another instance may still be deciding about its token: by the
 * database's time as it was seconds ago (`clock-watch.ts`). So a row is deleted only after a minute.
 */
const KEPT_SECONDS = 60;

/** Rows per transaction and kind: a transaction takes some milliseconds. */
const BATCH_SIZE = 200;

/**
 * Deletes tasks that ended more than the retention ago (specification "Task (stored)"), the reasons of operators' acts of
 * that age, and expired rows that were kept only to prevent a second use.
 *
 * A pass deletes every row that was old enough when the pass began, or stops when `shouldContinue` returns false. It
 * skips rows that another instance is deleting.
 *
 * @throws StorageUnavailable
 */
export async function forgetEnded(service: Forgetting, shouldContinue: () => boolean = () => true): Promise<void> {
  const { decisions, sweeping, endingTime, turn, retention } = service;
  const uselessBy = plusSeconds(endingTime, -KEPT_SECONDS);
  const endedBy = plusSeconds(endingTime, -retention);

  /** Repeats until a batch is empty, not just small: deleting a delegated task makes its parent deletable. */
  async function inBatches(batch: () => Promise<number>): Promise<void> {
    while (shouldContinue() && (await batch()) > 0) await turn();
  }
  // An ended task is deleted once its index in a status list is free.
  await inBatches(() => sweeping.forget(uselessBy, BATCH_SIZE));
  await inBatches(() => decisions.decide(deleteEndedTasks, { endedBy, limit: BATCH_SIZE }));
  await inBatches(() => sweeping.eraseReasons(endedBy, BATCH_SIZE));
}
