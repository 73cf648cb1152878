/** What `/readyz` says once it says 200. It gives its database less than a second, of which a machine may steal more. */

import { setTimeout as pause } from 'node:timers/promises';
import type { Answer, Mandate } from '../support/mandate.ts';

/** Whoever is not ready by then is not. */
const READY_WITHIN_MS = 10_000;
const POLL_MS = 50;

export async function untilReady(
  { get }: Pick<Mandate, 'get'>,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const until = performance.now() + READY_WITHIN_MS;
  for (;;) {
    const answer = await get('/readyz', headers);
    if (answer.status === 200 || performance.now() > until) return answer;
    await pause(POLL_MS);
  }
}
