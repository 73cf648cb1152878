/**
 * The system's time to the microsecond, never going backwards within this process.
 *
 * `Date.now()` follows the wall clock but counts whole milliseconds; `performance.now()` is finer but knows nothing of
 * the wall clock being set. So the fine clock runs on top of the coarse one and is kept within the millisecond that
 * the coarse one shows: a slewed clock is followed, and a clock set forwards is believed at once.
 *
 * When the clock is set back, time stands still here until the wall clock has caught up: of all readings that never
 * go back, that one is nearest to the wall clock at every moment, and lifetimes are not cut short by the step. A
 * clock that was ahead by hours needs a restart, after which there is nothing to go back from.
 */

import type { Clock } from '../../application/ports/clock.ts';
import { instantFromMicros } from '../../domain/instant.ts';

const MICROS_PER_MILLI = 1000;

/** Both in milliseconds: since the epoch, whole; and since some fixed moment, with fractions, never set. */
export interface TimeSources {
  wall(): number;
  monotonic(): number;
}

const system: TimeSources = { wall: () => Date.now(), monotonic: () => performance.now() };

export function systemClock(sources: TimeSources = system): Clock {
  // What to add to the fine clock, in microseconds.
  let offset = Number.NEGATIVE_INFINITY;
  let latest = Number.NEGATIVE_INFINITY;
  return {
    now() {
      const fine = Math.floor(sources.monotonic() * MICROS_PER_MILLI);
      const earliest = sources.wall() * MICROS_PER_MILLI;
      offset = clamp(offset, earliest - fine, earliest - fine + MICROS_PER_MILLI - 1);
      latest = Math.max(latest, fine + offset);
      return instantFromMicros(latest);
    },
  };
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(Math.max(value, min), max);
}
