/** Waits out a control plane that says "not now" (RFC 9110 §10.2.3), for a while. */

import { NotNow } from './errors.ts';
import type { AgentClock } from './options.ts';

/** Each wait is up to half as long again, so that agents that were turned away together do not come back together. */
const JITTER = 0.5;
/** A wait that the control plane did not ask for doubles up to this. */
const LONGEST_BACKOFF_MS = 8000;

export interface Patience {
  readonly clock: AgentClock;
  readonly patienceMs: number;
}

/**
 * @param attempt throws NotNow when it may be made again
 * @param mayWait asked before each wait: a no hands the NotNow on
 */
export async function patiently<Answer>(
  { clock, patienceMs }: Patience,
  attempt: () => Promise<Answer>,
  mayWait: () => boolean = () => true,
): Promise<Answer> {
  const deadline = clock.now() + patienceMs;
  for (let failures = 0; ; failures += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof NotNow) || !mayWait()) throw error;
      const least = Math.max(error.retryAfterMs, Math.min(500 * 2 ** failures, LONGEST_BACKOFF_MS));
      const waitMs = least * (1 + JITTER * clock.random());
      if (clock.now() + waitMs > deadline) throw error;
      await clock.sleep(waitMs);
    }
  }
}
