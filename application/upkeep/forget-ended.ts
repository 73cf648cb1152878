/**
 * One pass over what need not be kept any longer: tasks that ended a retention period ago (specification "Task (stored)"),
 * and what was remembered only so that it could not be used twice.
 */

import { plusSeconds } from '../../domain/instant.ts';
import type { Clock } from '../ports/clock.ts';
import type { Sweeping } from '../ports/sweeping.ts';

export interface Forgetting {
  readonly sweeping: Pick<Sweeping, 'deleteEnded' | 'forget'>;
  readonly clock: Clock;
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

/** So that a pass ends; the next one goes on. */
const MAX_BATCHES = 2000;

/**
 * @throws StorageUnavailable
 */
export async function forgetEnded(service: Forgetting, mayGoOn: () => boolean = () => true): Promise<void> {
  const { sweeping, clock, retention } = service;

  // Until a batch is empty, not merely small: deleting what was delegated from a task makes way for that task.
  await inBatches(mayGoOn, async () => {
    const now = clock.now();
    const until = { endedBy: plusSeconds(now, -retention), expiredBy: plusSeconds(now, -CLOCKS_DIFFER_BY_SECONDS) };
    return sweeping.deleteEnded(until, BATCH_SIZE);
  });
  await inBatches(mayGoOn, () => sweeping.forget(plusSeconds(clock.now(), -CLOCKS_DIFFER_BY_SECONDS), BATCH_SIZE));
}

async function inBatches(mayGoOn: () => boolean, batch: () => Promise<number>): Promise<void> {
  for (let done = 0; done < MAX_BATCHES && mayGoOn(); done += 1) {
    if ((await batch()) === 0) return;
  }
}
