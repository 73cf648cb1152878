/**
 * Lengths of time in whole seconds, and the two ways of writing them: ISO 8601 everywhere, hh:mm:ss time spans in
 * settings only (specification "Configuration rules", "Agent registration").
 */

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;

/** A hundred years: longer than any retention, and an instant that far ahead is still a safe integer. */
export const MAX_SECONDS = 36_525 * DAY;

/** ISO 8601 without years, months and fractions. Weeks cannot be mixed with other units. Bare `P` counts as zero. */
const WEEKS = /^P(\d+)W$/;
const COMPONENTS = /^P(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$/;

/** As .NET writes a TimeSpan, `[d.]hh:mm:ss`. .NET reads `24:00:00` as 24 days, so hours end at 23 here. */
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
