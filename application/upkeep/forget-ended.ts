/**
 * One pass that deletes old rows: tasks that ended more than the retention ago (specification "Task (stored)"), and
 * expired rows that were kept only to prevent a second use.
 */

import { plusSeconds } from '../../domain/instant.ts';
import { deleteEndedTasks } from '../decisions/sweep.ts';
import type { Decisions } from '../ports/decisions.ts';
import type { Clock, Turn } from '../ports/runtime.ts';
import type { Sweeping } from '../ports/storage.ts';

export interface Forgetting {
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
