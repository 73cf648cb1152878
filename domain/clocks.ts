/**
 * When the clock of this instance may end or delete what all instances share (supplement "Clocks";
 * docs/decisions/0022-two-clocks.md).
 */

import { durationInWords } from './duration.ts';
import { type Instant, instantFromMicros, MICROS_PER_SECOND, plusSeconds, secondsBetween } from './instant.ts';

/** Synchronized clocks differ by milliseconds. With a larger difference, this instance ends and deletes nothing by time. */
export const MOST_DIFFERENCE_SECONDS = 30;

/** Time services slew a clock, or step it by less. */
const JUMP_SECONDS = 5;

/** The sentence of readiness checks and logs about a clock that was set. */
export const JUMPED = `The clock of this machine was set by more than ${JUMP_SECONDS} seconds within the last minute.`;

/** A clock that was set is trusted again after this time without another jump. */
const STEADY_AFTER_SECONDS = 60;

const MICROS_PER_MILLI = 1000;

/** The wall clock and the monotonic clock (milliseconds since any point of time), read at one moment. */
export interface ClockReading {
  readonly wall: Instant;
  readonly monotonicMs: number;
}

/** How the wall clock of this process has run, compared with the monotonic clock. Offsets are wall minus monotonic. */
export interface ClockCourse {
  /** Whether the clocks have agreed for the last minute, as far as this process knows. */
  readonly isSteady: boolean;
  /** The offset since the last jump, as it was at `sinceMs`. */
  readonly offset: number;
  /** Of the monotonic clock. */
  readonly sinceMs: number;
  /** The offset at the end of the last steady minute. */
  readonly trusted: number;
}

export function startOfCourse(reading: ClockReading): ClockCourse {
  const offset = offsetOf(reading);
  return { isSteady: true, offset, sinceMs: reading.monotonicMs, trusted: offset };
}

/** The course after another reading. The same object if nothing changed. */
export function continueCourse(course: ClockCourse, reading: ClockReading): ClockCourse {
  const offset = offsetOf(reading);
  const sinceMs = reading.monotonicMs;
  if (Math.abs(offset - course.offset) > JUMP_SECONDS * MICROS_PER_SECOND) {
    return { isSteady: false, offset, sinceMs, trusted: course.trusted };
  }
  // A clock may be slewed by any amount, but not by five seconds in a minute.
  if (sinceMs - course.sinceMs < STEADY_AFTER_SECONDS * 1000) return course;
  return { isSteady: true, offset, sinceMs, trusted: offset };
}

/** The time if the wall clock had not jumped. */
export function steadyTime({ trusted }: ClockCourse, monotonicMs: number): Instant {
  return instantFromMicros(Math.round(monotonicMs * MICROS_PER_MILLI + trusted));
}

function offsetOf({ wall, monotonicMs }: ClockReading): number {
  return wall - monotonicMs * MICROS_PER_MILLI;
}

export function earlierOf(one: Instant, other: Instant): Instant {
  return one < other ? one : other;
}

export function laterOf(one: Instant, other: Instant): Instant {
  return one > other ? one : other;
}

/**
 * The seconds by which another clock is ahead of ours. It was read between our request and its answer: a time in that
 * interval counts as equal.
 */
export function secondsAhead(sentAt: Instant, other: Instant, receivedAt: Instant): number {
  if (other >= sentAt && other <= receivedAt) return 0;
  return other > receivedAt ? secondsBetween(receivedAt, other) : secondsBetween(sentAt, other);
}

/** The same by the `Date` of an HTTP response, which has whole seconds. */
export function secondsAheadByDate(sentAt: Instant, date: Instant, receivedAt: Instant): number {
  return secondsAhead(plusSeconds(sentAt, -1), date, receivedAt);
}

/** As in `The database's clock is 40 seconds ahead of this machine's.` */
export function describeDifference(whose: string, ahead: number): string {
  return `${whose} is ${durationInWords(Math.round(Math.abs(ahead)))} ${ahead > 0 ? 'ahead of' : 'behind'} this machine's.`;
}

/** Whether shared state may not end by this clock. @param seconds by which another clock differs, in either direction */
export function differsTooMuch(seconds: number): boolean {
  return Math.abs(seconds) > MOST_DIFFERENCE_SECONDS;
}
