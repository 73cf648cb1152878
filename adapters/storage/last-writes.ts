/**
 * Remembers when decisions were last written, and when they last could not be, because the disk was full or failed. A
 * readiness check cannot find that out by itself: it writes less than a decision.
 */

/** For this time after a failed write the database counts as not writable, unless a later write succeeds. */
export const FAILED_WRITE_MS = 5_000;

export interface Writes {
  succeeded(): void;
  failed(): void;
  /** Whether a change was committed in the last milliseconds. */
  succeededWithin(ms: number): boolean;
  /** Whether a write failed in the last milliseconds, and none succeeded since. */
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
