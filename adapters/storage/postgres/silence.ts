/**
 * Ends a call that waits for a server which answers nobody. What may take a minute because there is much to do must not
 * take a minute because the server is frozen: an operator at a kill switch is told within seconds that it did not answer.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { ServerSilent } from './errors.ts';
import { SILENCE_MS, SILENT_QUESTIONS } from './limits.ts';

export type IsThere = () => Promise<boolean>;

/**
 * The call's answer, or an error after which its connection must not be used again: whether it was applied is unknown.
 *
 * @throws ServerSilent
 */
export async function unlessSilent<Answer>(call: Promise<Answer>, isThere: IsThere): Promise<Answer> {
  const over = new AbortController();
  try {
    return await Promise.race([call, untilSilent(isThere, over.signal)]);
  } finally {
    over.abort();
    // It ends with its connection.
    call.catch(() => undefined);
  }
}

async function untilSilent(isThere: IsThere, signal: AbortSignal): Promise<never> {
  for (let unanswered = 0; unanswered < SILENT_QUESTIONS; ) {
    if (unanswered === 0) await pause(SILENCE_MS, undefined, { signal });
    unanswered = (await isThere()) ? 0 : unanswered + 1;
    signal.throwIfAborted();
  }
  throw new ServerSilent('Postgres answers nobody');
}
