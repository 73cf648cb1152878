/**
 * The ends of a time range in a query (specification "GET /audit"): an ISO 8601 timestamp, or a bare date meaning
 * midnight UTC. All timestamps of this service are UTC, so a timestamp without an offset is read as UTC too.
 */

import { type Instant, instantFromMicros, MICROS_PER_SECOND } from '../instant.ts';

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const TIME = /^([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.(\d{1,9}))?)?(?:Z|([+-])([01]\d|2[0-3]):([0-5]\d))?$/;

const MICROS_PER_MILLI = 1000;
const NANOS_PER_MICRO = 1000;
const MICROS_PER_MINUTE = 60 * MICROS_PER_SECOND;
const MICROS_PER_DAY = 24 * 60 * MICROS_PER_MINUTE;

/** The first instant at or after the written time; `undefined` if it is malformed or no real date. */
export function parseRangeStart(text: string): Instant | undefined {
  return bounded(parsePoint(text)?.micros);
}

/** The first instant after the range: a bare date covers its whole day. */
export function parseRangeEnd(text: string): Instant | undefined {
  const point = parsePoint(text);
  return bounded(point?.isDate ? point.micros + MICROS_PER_DAY : point?.micros);
}

function parsePoint(text: string): { readonly micros: number; readonly isDate: boolean } | undefined {
  const [date = '', time, ...more] = text.split('T');
  const midnight = parseDate(date);
  if (midnight === undefined || more.length > 0) return undefined;
  if (time === undefined) return { micros: midnight, isDate: true };
  const sinceMidnight = parseTime(time);
  return sinceMidnight === undefined ? undefined : { micros: midnight + sinceMidnight, isDate: false };
}

function parseDate(text: string): number | undefined {
  if (!DATE.test(text)) return undefined;
  const midnight = new Date(`${text}T00:00:00Z`);
  // Some engines read 30 February as a day in March, others refuse it. Both are refused here.
  if (Number.isNaN(midnight.getTime()) || midnight.toISOString().slice(0, 10) !== text) return undefined;
  return midnight.getTime() * MICROS_PER_MILLI;
}

/** Microseconds from midnight UTC. Finer fractions are rounded up, which changes neither end of a range. */
function parseTime(text: string): number | undefined {
  const match = TIME.exec(text);
  if (match === null) return undefined;
  const [, hours, minutes, seconds = '0', fraction = '', sign, offsetHours = '0', offsetMinutes = '0'] = match;
  const offset = (sign === '-' ? -1 : 1) * (Number(offsetHours) * 60 + Number(offsetMinutes));
  return (
    (Number(hours) * 60 + Number(minutes) - offset) * MICROS_PER_MINUTE +
    Number(seconds) * MICROS_PER_SECOND +
    Math.ceil(Number(fraction.padEnd(9, '0')) / NANOS_PER_MICRO)
  );
}

/** Clamps to the possible instants: no record is older than the epoch or later than the largest Instant. */
function bounded(micros: number | undefined): Instant | undefined {
  if (micros === undefined) return undefined;
  return instantFromMicros(Math.min(Math.max(micros, 0), Number.MAX_SAFE_INTEGER));
}
