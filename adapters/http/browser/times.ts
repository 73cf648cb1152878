/** Lengths of time in words. */

const UNITS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
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

/** A length that something takes at most. Rounded up: 150 seconds are 3 minutes, because 2 would be too short. */
export function atMost(language: string, seconds: number): string {
  return inWords(language, inUnits(seconds, Math.ceil));
}

function inWords(language: string, { amount, unit }: ReturnType<typeof inUnits>): string {
  return new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'long' }).format(amount);
}
