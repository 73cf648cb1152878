/**
 * One pass over what need not be kept any longer: tasks that ended a retention period ago (specification "Task (stored)"),
 * and what was remembered only so that it could not be used twice.
 */

import { plusSeconds } from '../../domain/instant.ts';
import type { Clock } from '../ports/clock.ts';
import type { Sweeping } from '../ports/sweeping.ts';
import type { Turn } from '../ports/turn.ts';

export interface Forgetting {
  readonly sweeping: Pick<Sweeping, 'deleteEnded' | 'forget'>;
  readonly clock: Clock;
  readonly turn: Turn;
  /** Seconds: `Service:Tasks:Retention`. */
  readonly retention: number;
}

/**
 * Instances' clocks agree to within a minute (docs/decisions/0001-ledger-paging.md). What this one would not accept any
 * more, another may still: it is forgotten only once no instance would.
 */
const CLOCKS_DIFFER_BY_SECONDS = 60;

/** Rows per transaction and kind: some milliseconds' worth. */
const BATCH_SIZE = 200;

/**
 * All that had become old enough when the pass began, unless `mayGoOn` says no before: so it ends, and leaves nothing
 * for the next one, however far apart they are. What other instances are deleting is left to them.
 *
 * @throws StorageUnavailable
 */
export async function forgetEnded(service: Forgetting, mayGoOn: () => boolean = () => true): Promise<void> {
  const { sweeping, clock, turn, retention } = service;
  const now = clock.now();
  const uselessBy = plusSeconds(now, -CLOCKS_DIFFER_BY_SECONDS);
  const endedBy = plusSeconds(now, -retention);

  /** Until one is empty, not merely small: deleting what was delegated from a task makes way for that task. */
  async function inBatches(batch: () => Promise<number>): Promise<void> {
    while (mayGoOn() && (await batch()) > 0) await turn();
  }
  await inBatches(() => sweeping.deleteEnded(endedBy, BATCH_SIZE));
  await inBatches(() => sweeping.forget(uselessBy, BATCH_SIZE));
}
