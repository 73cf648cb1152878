/** The few figures that the report is made of. */

/** The middle value; the mean of the two middle ones of an even number. NaN of none. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  const lower = sorted[Math.ceil(sorted.length / 2) - 1] ?? Number.NaN;
  return (lower + upper) / 2;
}

/** The smallest of the ascending values that at least `share` of them do not exceed. NaN of none. */
export function percentile(ascending: Float64Array, share: number): number {
  return ascending[Math.max(0, Math.ceil(ascending.length * share) - 1)] ?? Number.NaN;
}
