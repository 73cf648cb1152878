/** Milliseconds since the epoch, finely, and the same in every process of a run. */
export function wallClock(): number {
  return performance.timeOrigin + performance.now();
}
