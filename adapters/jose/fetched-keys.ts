/**
 * Caches remote keys, and decides when to fetch them (supplement "Client assertions", remote key sets). Concurrent callers
 * share one fetch. A failed fetch keeps the last good set. Clients cannot trigger fetches at will. A fetch belongs to the
 * trace of the caller that started it.
 */

import type { Clock } from '../../application/ports/runtime.ts';
import { type Instant, secondsBetween } from '../../domain/instant.ts';
import type { Trace } from '../../domain/trace-context.ts';

export interface FetchedKeys<Keys> {
  /**
   * Returns the cached keys. Without cached keys it fetches them, and `fresh` is true: a second fetch would bring
   * nothing new.
   */
  current(trace?: Trace): Promise<{ readonly keys: Keys | undefined; readonly fresh: boolean }>;
  /** Fetches because the cached keys did not suffice. `undefined` if that failed, or is too early. */
  again(trace?: Trace): Promise<Keys | undefined>;
  /** Returns the cached keys without waiting. Starts a fetch in the background if one is due. */
  held(trace?: Trace): Keys | undefined;
  /** Fetches if no keys are cached, or the cached ones are old. */
  refreshIfDue(): Promise<void>;
  lastFetchedAt(): Instant | undefined;
}

/** Ages of cached keys in seconds. */
interface Ages {
  /** Older keys are refreshed in the background. */
  readonly refreshAfter: number;
  /** For older keys a caller waits until a refresh was attempted, because a key may have been removed. */
  readonly waitAfter?: number;
}

/** The shortest time between two fetches that a client causes with an invented `kid`. */
const LOOK_AGAIN_SECONDS = 30;
/**
 * The pause after a failed fetch while keys are cached. Requests use the cached keys meanwhile. If these are older than
 * `waitAfter`, a request waits for the next attempt.
 */
const RETRY_SECONDS = 30;
/** The pause after a failed fetch without cached keys. It is short, because no request can be served. */
const COOL_DOWN_SECONDS = 1;

/** @param fetch resolves with `undefined` if it fails, and logs why. It never throws */
export function fetchedKeys<Keys>(
  fetch: (trace: Trace | undefined) => Promise<Keys | undefined>,
  clock: Clock,
  ages: Ages,
): FetchedKeys<Keys> {
  let held: { readonly keys: Keys; readonly at: Instant } | undefined;
  let failedAt: Instant | undefined;
  let lookedAgainAt: Instant | undefined;
  let underWay: Promise<void> | undefined;

  /** Whether the time has passed. A time in the future means that the clock was set back, and counts as passed. */
  function passed(since: Instant | undefined, seconds: number): boolean {
    if (since === undefined) return true;
    const age = secondsBetween(since, clock.now());
    return age < 0 || age >= seconds;
  }

  function isDue(): boolean {
    if (held === undefined) return passed(failedAt, COOL_DOWN_SECONDS);
    return passed(held.at, ages.refreshAfter) && passed(failedAt, RETRY_SECONDS);
  }

  function fetchShared(trace?: Trace): Promise<void> {
    underWay ??= fetchNow(trace).finally(() => {
      underWay = undefined;
    });
    return underWay;
  }

  async function fetchNow(trace: Trace | undefined): Promise<void> {
    // Taken before the request is sent, because the response may be as old as that.
    const at = clock.now();
    const keys = await fetch(trace);
    if (keys !== undefined) held = { keys, at };
    failedAt = keys === undefined ? clock.now() : undefined;
  }

  return {
    async current(trace) {
      const due = isDue();
      if (due || (held === undefined && underWay !== undefined)) {
        const fetched = fetchShared(trace);
        const mustWait = held === undefined || (ages.waitAfter !== undefined && passed(held.at, ages.waitAfter));
        if (mustWait) {
          await fetched;
          return { keys: held?.keys, fresh: true };
        }
      }
      return { keys: held?.keys, fresh: false };
    },
    async again(trace) {
      const before = held;
      if (underWay === undefined) {
        if (!passed(lookedAgainAt, LOOK_AGAIN_SECONDS)) return undefined;
        lookedAgainAt = clock.now();
      }
      await fetchShared(trace);
      return held === before ? undefined : held?.keys;
    },
    held(trace) {
      if (isDue()) void fetchShared(trace);
      return held?.keys;
    },
    async refreshIfDue() {
      if (isDue()) await fetchShared();
    },
    lastFetchedAt: () => held?.at,
  };
}
