import type { TimeLimit } from '../../application/ports/time-limit.ts';
import { type Instant, secondsBetween } from '../../domain/instant.ts';

export interface Occasion {
  /** From one question to the next: whoever asks earlier gets the same answer. */
  readonly everySeconds: number;
  /** How long anybody waits. */
  readonly limitMs: number;
  readonly timeLimit: TimeLimit;
  now(): Instant;
}

/**
 * Asks no more often than it may, once at a time, and answers within a limit: with `undefined` where asking failed, or
 * still goes on.
 */
export function occasionally<Answer>(
  ask: () => Promise<Answer>,
  { everySeconds, limitMs, timeLimit, now }: Occasion,
): () => Promise<Answer | undefined> {
  let askedAt: Instant | undefined;
  let isAsking = false;
  let last: Promise<Answer | undefined> = Promise.resolve(undefined);

  /** A time that is in the future, the clock having been put back, is as good as long ago. */
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
