/** Repeats an attempt that failed with NotNow, with exponential backoff and jitter (RFC 9110 §10.2.3). */

import { NotNow } from './errors.ts';
import type { AgentClock } from './options.ts';

/** Up to half of each wait is added at random, so that agents refused together do not retry together. */
const JITTER = 0.5;
/** Without a `Retry-After` the wait doubles from 500 ms up to this. */
const MAX_BACKOFF_MS = 8000;

export interface RetryOptions {
  readonly clock: AgentClock;
  /** No retry starts later than this after the first attempt. */
  readonly patienceMs: number;
}

/**
 * @param attempt throws NotNow when it may be repeated
 * @param mayRetry is called before each wait; when it returns false, the NotNow is rethrown
 */
export async function retryWithBackoff<Answer>(
  { clock, patienceMs }: RetryOptions,
  attempt: () => Promise<Answer>,
  mayRetry: () => boolean = () => true,
): Promise<Answer> {
  const deadline = clock.now() + patienceMs;
  for (let failures = 0; ; failures += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof NotNow) || !mayRetry()) throw error;
      const least = Math.max(error.retryAfterMs, Math.min(500 * 2 ** failures, MAX_BACKOFF_MS));
      const waitMs = least * (1 + JITTER * clock.random());
      if (clock.now() + waitMs > deadline) throw error;
      await clock.sleep(waitMs);
    }
  }
}
