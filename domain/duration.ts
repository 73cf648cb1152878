/**
 * Lengths of time in whole seconds, and how they are written: ISO 8601 in values, hh:mm:ss time spans in settings only
 * (specification "Configuration rules", "Agent registration"), and words in sentences for people.
 */

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;

const UNITS = [
  [DAY, 'day'],
  [HOUR, 'hour'],
  [MINUTE, 'minute'],
  [1, 'second'],
] as const;

/** A hundred years: longer than any retention, and an instant that far ahead is still a safe integer. */
export const MAX_SECONDS = 36_525 * DAY;

/** ISO 8601 without years, months and fractions. Weeks cannot be mixed with other units. Bare `P` counts as zero. */
const WEEKS = /^P(\d+)W$/;
const COMPONENTS = /^P(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$/;

/** A TimeSpan as .NET writes it, `[d.]hh:mm:ss`. .NET reads `24:00:00` as 24 days, so hours end at 23 here. */
const TIME_SPAN = /^(?:(\d+)\.)?([01]\d|2[0-3]):([0-5]\d):([0-5]\d)$/;

/** Seconds of an ISO 8601 duration above zero; `undefined` for anything else. */
export function parseIsoDuration(text: string): number | undefined {
  const weeks = WEEKS.exec(text);
  if (weeks) return bounded(count(weeks[1]) * WEEK);
  return total(COMPONENTS.exec(text));
}

/** Seconds of an ISO 8601 duration or a time span above zero; `undefined` for anything else. */
export function parseDuration(text: string): number | undefined {
  return parseIsoDuration(text) ?? total(TIME_SPAN.exec(text));
}

/**
 * The shortest ISO 8601 form in days, hours, minutes and seconds: 90 becomes `PT1M30S`, 604800 becomes `P7D`.
 *
 * @param seconds a whole number above zero
 */
export function formatDuration(seconds: number): string {
  const time =
    component(Math.floor((seconds % DAY) / HOUR), 'H') +
    component(Math.floor((seconds % HOUR) / MINUTE), 'M') +
    component(seconds % MINUTE, 'S');
  return `P${component(Math.floor(seconds / DAY), 'D')}${time && `T${time}`}`;
}

/**
 * For a sentence: 90 becomes `1 minute 30 seconds`.
 *
 * @param seconds a whole number from 0
 * @param most how many units at most, from the largest; smaller ones are dropped. By default the length is exact
 */
export function durationInWords(seconds: number, most: number = UNITS.length): string {
  const largest = UNITS.findIndex(([size]) => seconds >= size);
  if (largest === -1) return '0 seconds';
  let left = seconds;
  const words = UNITS.slice(largest, largest + most).flatMap(([size, unit]) => {
    const amount = Math.floor(left / size);
    left %= size;
    return amount === 0 ? [] : [`${amount} ${unit}${amount === 1 ? '' : 's'}`];
  });
  return words.join(' ');
}

function component(amount: number, unit: string): string {
  return amount === 0 ? '' : `${amount}${unit}`;
}

/** Adds the days, hours, minutes and seconds that either pattern captured. */
function total(match: RegExpExecArray | null): number | undefined {
  if (!match) return undefined;
  const [, days, hours, minutes, seconds] = match;
  return bounded(count(days) * DAY + count(hours) * HOUR + count(minutes) * MINUTE + count(seconds));
}

/** An absent component is zero. One with too many digits becomes a number that `bounded` refuses. */
function count(digits: string | undefined): number {
  return digits === undefined ? 0 : Number(digits);
}

function bounded(seconds: number): number | undefined {
  return seconds > 0 && seconds <= MAX_SECONDS ? seconds : undefined;
}
