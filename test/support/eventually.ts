/** Waiting for what comes by itself, without saying how long that takes. */

import { setTimeout as pause } from 'node:timers/promises';

/** What has not come by then never will. By the calendar: a suite may move `performance.now`. */
const LIMIT_MS = 15_000;

/** Resolves once it is so. @throws when it does not come to that */
export async function eventually(isSo: () => boolean | Promise<boolean>, pollMs = 1): Promise<void> {
  for (const until = Date.now() + LIMIT_MS; !(await isSo()); await pause(pollMs)) {
    if (Date.now() > until) throw new Error('it did not come to that');
  }
}
