/** Remembers when the last batch was written, and when one last could not be. */

export interface Writes {
  succeeded(): void;
  failed(): void;
  /** Whether a batch was committed in the last milliseconds. */
  succeededWithin(ms: number): boolean;
  /** Whether the last batch could not be written, and this is no longer ago than the milliseconds. */
  failedWithin(ms: number): boolean;
}

/** @param now milliseconds of a monotonic clock */
export function lastWrites(now: () => number): Writes {
  let succeededAt = Number.NEGATIVE_INFINITY;
  let failedAt = Number.NEGATIVE_INFINITY;
  return {
    succeeded() {
      succeededAt = now();
      failedAt = Number.NEGATIVE_INFINITY;
    },
    failed() {
      failedAt = now();
    },
    succeededWithin: (ms) => now() - succeededAt < ms,
    failedWithin: (ms) => now() - failedAt < ms,
  };
}
