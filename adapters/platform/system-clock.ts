/**
 * The system time in microseconds. It goes backwards only if the wall clock was clearly wrong.
 *
 * `Date.now()` follows the wall clock in whole milliseconds. `performance.now()` is finer, but does not notice when the
 * wall clock is set. So this clock adds the fine time to the wall clock's millisecond. It follows a wall clock that is
 * slewed, or set forwards.
 *
 * After a step back of less than a second, as time services make, this clock stands still until the wall clock has caught
 * up. After a larger step back it follows the wall clock, which was wrong before. Otherwise nothing would expire for
 * hours.
 */

import { randomInt } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Clock, RetryPause, TimeLimit, Turn } from '../../application/ports/runtime.ts';
import { instantFromMicros } from '../../domain/instant.ts';

const MICROS_PER_MILLI = 1000;
/** Larger than any correction of a synchronized clock. */
const LONGEST_STANDSTILL = 1_000_000;

/** Times in milliseconds. `wall`: since the epoch, without fractions. `monotonic`: with fractions, never adjusted. */
interface TimeSources {
  wall(): number;
  monotonic(): number;
}

const system: TimeSources = { wall: () => Date.now(), monotonic: () => performance.now() };

export function systemClock(sources: TimeSources = system): Clock {
  // Added to the fine time, in microseconds.
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

/** Resolves after one event loop turn. Requests that have arrived by then are read first. */
export const eventLoopTurn: Turn = () => new Promise((resolve) => setImmediate(resolve));

export const retryPause: RetryPause = (longestMs) => wait(randomInt(longestMs + 1));

export const timeLimit: TimeLimit = async (work, ms) => {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  try {
    return await Promise.race([work, tooLate]);
  } finally {
    clearTimeout(timer);
  }
};
