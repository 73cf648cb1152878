/** Waits until a condition holds. */

import { setTimeout as pause } from 'node:timers/promises';

/** Measured with `Date`, because a test may mock `performance.now`. */
const LIMIT_MS = 15_000;

/** @throws if the condition does not hold within the limit */
export async function eventually(isSo: () => boolean | Promise<boolean>, pollMs = 1): Promise<void> {
  for (const until = Date.now() + LIMIT_MS; !(await isSo()); await pause(pollMs)) {
    if (Date.now() > until) throw new Error('the condition never held');
  }
}
