/** Waits for a random time of at most `longestMs` milliseconds, so that callers who lost the same race meet no more. */
export type RetryPause = (longestMs: number) => Promise<void>;
