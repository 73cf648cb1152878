import type { TimeLimit } from '../../application/ports/runtime.ts';
import { type Instant, secondsBetween } from '../../domain/instant.ts';

export interface Occasion {
  /** The minimum time between two queries: an earlier caller gets the cached answer. */
  readonly everySeconds: number;
  /** The time limit of a caller. */
  readonly limitMs: number;
  readonly timeLimit: TimeLimit;
  now(): Instant;
}

/**
 * Limits the rate of a query, runs one at a time, and answers within a time limit: with `undefined` if the query failed
 * or is still running.
 */
export function occasionally<Answer>(
  ask: () => Promise<Answer>,
  { everySeconds, limitMs, timeLimit, now }: Occasion,
): () => Promise<Answer | undefined> {
  let askedAt: Instant | undefined;
  let isAsking = false;
  let last: Promise<Answer | undefined> = Promise.resolve(undefined);

  /** A time in the future means that the clock was set back: the cached answer counts as old. */
  const isDue = (): boolean => {
    const age = askedAt === undefined ? everySeconds : secondsBetween(askedAt, now());
    return age < 0 || age >= everySeconds;
  };

  return () => {
    if (!isAsking && isDue()) {
      askedAt = now();
      isAsking = true;
      last = ask()
        .catch(() => undefined)
        .finally(() => {
          isAsking = false;
        });
    }
    return timeLimit(last, limitMs);
  };
}
