/**
 * The system's time to the microsecond, which goes backwards only when the wall clock was plainly wrong.
 *
 * `Date.now()` follows the wall clock but counts whole milliseconds; `performance.now()` is finer but knows nothing of
 * the wall clock being set. So the fine clock runs on top of the coarse one and is kept within the millisecond that
 * the coarse one shows: a slewed clock is followed, and a clock set forwards is believed at once.
 *
 * A clock set back by less than a second, as time services do, lets time stand still here until the wall clock has
 * caught up. One set back by more was wrong before, and is followed: standing still for hours would keep everything
 * alive that was about to expire.
 */

import type { Clock } from '../../application/ports/clock.ts';
import { instantFromMicros } from '../../domain/instant.ts';

const MICROS_PER_MILLI = 1000;
/** Larger than any correction of a clock that is kept in time. */
const LONGEST_STANDSTILL = 1_000_000;

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
      const reading = fine + offset;
      latest = latest - reading > LONGEST_STANDSTILL ? reading : Math.max(latest, reading);
      return instantFromMicros(latest);
    },
  };
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(Math.max(value, min), max);
}
