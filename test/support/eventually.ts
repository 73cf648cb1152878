/** Waits until a condition holds. */

import { setTimeout as pause } from 'node:timers/promises';

/** Measured with `Date`, because a test may mock `performance.now`. */
const LIMIT_MS = 15_000;
/** A condition that does not hold soon is looked at less often: a look may be a request, or parse all that was received. */
const LONGEST_PAUSE_MS = 10;

/** @throws if the condition does not hold within the limit */
export async function eventually(isSo: () => boolean | Promise<boolean>, pollMs = 1): Promise<void> {
  const until = Date.now() + LIMIT_MS;
  for (let pauseMs = pollMs; !(await isSo()); pauseMs = Math.max(pollMs, Math.min(pauseMs * 1.5, LONGEST_PAUSE_MS))) {
    if (Date.now() > until) throw new Error('the condition never held');
    await pause(pauseMs);
  }
}
