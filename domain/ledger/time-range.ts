/** Ranges of time in UTC: those of a query (specification "GET /audit"), and calendar months. */

import {
  type Instant,
  instantFromMicros,
  instantFromMillis,
  MICROS_PER_SECOND,
  toMillisecondText,
} from '../instant.ts';

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const TIME = /^([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.(\d{1,9}))?)?(?:Z|([+-])([01]\d|2[0-3]):([0-5]\d))?$/;

const MICROS_PER_MILLI = 1000;
const NANOS_PER_MICRO = 1000;
const MICROS_PER_MINUTE = 60 * MICROS_PER_SECOND;
const MICROS_PER_DAY = 24 * 60 * MICROS_PER_MINUTE;

/**
 * Reads an ISO 8601 timestamp, or a bare date meaning midnight UTC. All timestamps of this service are UTC, so a
 * timestamp without an offset is read as UTC too. Returns the first instant at or after the written time; `undefined`
 * if it is malformed or no real date.
 */
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

/** Clamps to the possible instants: no record is older than 1970 or later than the largest Instant. */
function bounded(micros: number | undefined): Instant | undefined {
  if (micros === undefined) return undefined;
  return instantFromMicros(Math.min(Math.max(micros, 0), Number.MAX_SAFE_INTEGER));
}

declare const brand: unique symbol;
/** A calendar month, such as `2026-11`, by which the ledger is partitioned and archived. Months compare like their texts. */
export type Month = string & { readonly [brand]: 'Month' };

const MONTH = /^\d{4}-(0[1-9]|1[0-2])$/;

export function parseMonth(text: string): Month | undefined {
  return MONTH.test(text) ? (text as Month) : undefined;
}

/** @param instant before the year 10000 */
export function monthOf(instant: Instant): Month {
  return toMillisecondText(instant).slice(0, 7) as Month;
}

export function startOfMonth(month: Month): Instant {
  return instantFromMillis(Date.parse(`${month}-01T00:00:00.000Z`));
}

export function nextMonth(month: Month): Month {
  const [year, number] = [Number(month.slice(0, 4)), Number(month.slice(5))];
  const [nextYear, next] = number === 12 ? [year + 1, 1] : [year, number + 1];
  return `${String(nextYear).padStart(4, '0')}-${String(next).padStart(2, '0')}` as Month;
}
