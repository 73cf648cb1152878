/** Lengths of time in words. */

const MINUTE = 60;
const UNITS = [
  ['day', 86_400],
  ['hour', 60 * MINUTE],
  ['minute', MINUTE],
  ['second', 1],
] as const;

/**
 * In the largest unit of which the length has two or exactly one, and in whole ones: `90 minutes`, `2 hours`.
 *
 * @param round what becomes of a part of a unit
 */
function inUnits(
  seconds: number,
  round = Math.trunc,
): { readonly amount: number; readonly unit: Intl.RelativeTimeFormatUnitSingular } {
  const length = Math.abs(seconds);
  const [unit, size] = UNITS.find(([, size]) => length === size || length >= 2 * size) ?? ['second', 1];
  return { amount: round(seconds / size), unit };
}

/** @param seconds negative for the past */
export function relative(language: string, seconds: number): string {
  const { amount, unit } = inUnits(seconds);
  return new Intl.RelativeTimeFormat(language, { numeric: 'auto' }).format(amount, unit);
}

export function duration(language: string, seconds: number): string {
  return inWords(language, inUnits(seconds));
}

/**
 * A length that something takes at most. Rounded up: 150 seconds are 3 minutes, because 2 would be too short. From two hours on
 * it has hours and minutes, because five hours would be far too long for four and a minute.
 */
export function atMost(language: string, seconds: number): string {
  const minutes = Math.ceil(seconds / MINUTE);
  const left = minutes % 60;
  if (minutes < 120 || left === 0)
    return inWords(language, inUnits(minutes < 120 ? seconds : minutes * MINUTE, Math.ceil));
  const words = [
    inWords(language, { amount: (minutes - left) / 60, unit: 'hour' }),
    inWords(language, { amount: left, unit: 'minute' }),
  ];
  return new Intl.ListFormat(language, { type: 'unit' }).format(words);
}

function inWords(language: string, { amount, unit }: ReturnType<typeof inUnits>): string {
  return new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'long' }).format(amount);
}
