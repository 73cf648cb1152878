/**
 * Points in time, to the microsecond (supplement "The ledger": timestamps are stored to the microsecond).
 */

declare const brand: unique symbol;
/** Microseconds since 1970-01-01T00:00:00Z. A safe integer until the year 2255. */
export type Instant = number & { readonly [brand]: 'Instant' };

export const MICROS_PER_SECOND = 1_000_000;

export function instantFromMicros(micros: number): Instant {
  return micros as Instant;
}

export function instantFromMillis(millis: number): Instant {
  return Math.round(millis * 1000) as Instant;
}

/** @param seconds a NumericDate (RFC 7519 §2) */
export function instantFromSeconds(seconds: number): Instant {
  return (seconds * MICROS_PER_SECOND) as Instant;
}

/** Whole seconds since the epoch, rounded down: a NumericDate (RFC 7519 §2). */
export function toSeconds(instant: Instant): number {
  return Math.floor(instant / MICROS_PER_SECOND);
}

/** @param seconds fractions of a microsecond are rounded: an instant is a whole number, as databases store it */
export function plusSeconds(instant: Instant, seconds: number): Instant {
  return Math.round(instant + seconds * MICROS_PER_SECOND) as Instant;
}

/** Seconds from one instant to another, fractions included; negative when `until` is the earlier one. */
export function secondsBetween(from: Instant, until: Instant): number {
  return (until - from) / MICROS_PER_SECOND;
}

/** UTC ISO 8601 with exactly three fractional digits, truncated: a record's `ts`, a checkpoint's `closed_at`. */
export function toMillisecondText(instant: Instant): string {
  const millis = Math.floor(instant / 1000);
  const minute = Math.floor(millis / MILLIS_PER_MINUTE);
  if (minute !== lastMinute) {
    textOfMinute = new Date(minute * MILLIS_PER_MINUTE).toISOString().slice(0, -SECONDS_DIGITS);
    lastMinute = minute;
  }
  const inMinute = millis - minute * MILLIS_PER_MINUTE;
  const digits = String(inMinute).padStart(5, '0');
  return `${textOfMinute}${digits.slice(0, 2)}.${digits.slice(2)}Z`;
}

const MILLIS_PER_MINUTE = 60_000;
const SECONDS_DIGITS = '00.000Z'.length;
/** The text of the last minute is kept: records come in time order, and `toISOString` takes ten times as long. */
let lastMinute: number | undefined;
let textOfMinute = '';

/** UTC ISO 8601 with exactly six fractional digits: the form in exports and in text columns. */
export function toMicrosecondText(instant: Instant): string {
  const micros = ((instant % 1000) + 1000) % 1000;
  return `${toMillisecondText(instant).slice(0, -1)}${String(micros).padStart(3, '0')}Z`;
}

/** UTC ISO 8601 with no more fractional digits than needed, at most three (supplement "Names and identifiers"). */
export function toShortText(instant: Instant): string {
  return toMillisecondText(instant).replace(/\.?0+Z$/, 'Z');
}
