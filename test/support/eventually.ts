/** Waits for an asynchronous effect. */

import { setTimeout as pause } from 'node:timers/promises';

/** By the calendar, because a test may mock `performance.now`. */
const LIMIT_MS = 15_000;

/** Resolves once the condition holds. @throws after the limit */
export async function eventually(isSo: () => boolean | Promise<boolean>, pollMs = 1): Promise<void> {
  for (const until = Date.now() + LIMIT_MS; !(await isSo()); await pause(pollMs)) {
    if (Date.now() > until) throw new Error('the condition never held');
  }
}
