/** The backoff of a delivery that the sink refused (specification "Sink"). */

import { type Instant, plusSeconds } from '../instant.ts';

/** Seconds to wait after the first failure. Each further failure doubles the wait. */
const FIRST_WAIT = 1;

/** Seconds: the longest wait after any number of failures. */
const LONGEST_WAIT = 300;

/**
 * @param failures failed deliveries so far, at least 1
 * @returns seconds from the last failure until the next attempt
 */
export function waitAfter(failures: number): number {
  return Math.min(FIRST_WAIT * 2 ** (failures - 1), LONGEST_WAIT);
}

/**
 * An entry that is due after this time is due at once: an instance whose clock was ahead dated it. Twice the longest wait,
 * because clocks differ a little, and a delivery takes time.
 */
export function latestDue(now: Instant): Instant {
  return plusSeconds(now, 2 * LONGEST_WAIT);
}
