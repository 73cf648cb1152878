/**
 * Keys that somebody else publishes, and when they are fetched (decisions "Client assertions", remote key sets): all
 * who need them share one fetch, a failed one keeps the last good set, and nobody can make us fetch at will.
 */

import type { Clock } from '../../application/ports/clock.ts';
import { type Instant, secondsBetween } from '../../domain/instant.ts';

export interface FetchedKeys<Keys> {
  /**
   * What is held, fetched first when nothing is. `fresh` when it was fetched for this question: looking again would
   * find the same.
   */
  current(): Promise<{ readonly keys: Keys | undefined; readonly fresh: boolean }>;
  /** Fetches because what is held did not do; `undefined` when that brought nothing, or it is too soon to look again. */
  again(): Promise<Keys | undefined>;
  /** What is held, without waiting for anything; fetched in the background when that is due. */
  held(): Keys | undefined;
  /** Fetches when nothing is held or what is held has got old. */
  refreshIfDue(): Promise<void>;
  lastFetchedAt(): Instant | undefined;
}

/** Seconds. */
export interface Ages {
  /** Older keys are fetched anew, in the background. */
  readonly refreshAfter: number;
  /** Older keys are not used without having tried to fetch them anew: nobody asked for so long that a key may be gone. */
  readonly waitAfter?: number;
}

/** Somebody who invents a `kid` can cause no more than one fetch in this time. */
const LOOK_AGAIN_SECONDS = 30;
/** After a failed fetch, with keys held: nobody waits for the next try. */
const RETRY_SECONDS = 30;
/** After a failed fetch, with no keys: short, since nobody can be served; long enough not to hammer. */
const COOL_DOWN_SECONDS = 1;

/** @param fetch answers `undefined`, having said why in the log, when it fails; never throws */
export function fetchedKeys<Keys>(fetch: () => Promise<Keys | undefined>, clock: Clock, ages: Ages): FetchedKeys<Keys> {
  let held: { readonly keys: Keys; readonly at: Instant } | undefined;
  let failedAt: Instant | undefined;
  let lookedAgainAt: Instant | undefined;
  let underWay: Promise<void> | undefined;

  /** A time that is in the future, the clock having been put back, is as good as long ago. */
  function passed(since: Instant | undefined, seconds: number): boolean {
    if (since === undefined) return true;
    const age = secondsBetween(since, clock.now());
    return age < 0 || age >= seconds;
  }

  function isDue(): boolean {
    if (held === undefined) return passed(failedAt, COOL_DOWN_SECONDS);
    return passed(held.at, ages.refreshAfter) && passed(failedAt, RETRY_SECONDS);
  }

  function fetchShared(): Promise<void> {
    underWay ??= fetchNow().finally(() => {
      underWay = undefined;
    });
    return underWay;
  }

  async function fetchNow(): Promise<void> {
    // Taken before the question goes out: the answer may be as old as that.
    const at = clock.now();
    const keys = await fetch();
    if (keys !== undefined) held = { keys, at };
    failedAt = keys === undefined ? clock.now() : undefined;
  }

  return {
    async current() {
      const due = isDue();
      if (due || (held === undefined && underWay !== undefined)) {
        const fetched = fetchShared();
        const mustWait = held === undefined || (ages.waitAfter !== undefined && passed(held.at, ages.waitAfter));
        if (mustWait) {
          await fetched;
          return { keys: held?.keys, fresh: true };
        }
      }
      return { keys: held?.keys, fresh: false };
    },
    async again() {
      const before = held;
      if (underWay === undefined) {
        if (!passed(lookedAgainAt, LOOK_AGAIN_SECONDS)) return undefined;
        lookedAgainAt = clock.now();
      }
      await fetchShared();
      return held === before ? undefined : held?.keys;
    },
    held() {
      if (isDue()) void fetchShared();
      return held?.keys;
    },
    async refreshIfDue() {
      if (isDue()) await fetchShared();
    },
    lastFetchedAt: () => held?.at,
  };
}
