/** Waits a random time of at most `longestMs` milliseconds, so that conflicting callers do not retry together. */
export type RetryPause = (longestMs: number) => Promise<void>;
