/**
 * Caches remote keys, and decides when to fetch them (supplement "Client assertions", remote key sets). Concurrent callers
 * share one fetch. A failed fetch keeps the last good set. Clients cannot trigger fetches at will. A fetch belongs to the
 * trace of the caller that started it.
 */

import type { Clock } from '../../application/ports/runtime.ts';
import { type Instant, secondsBetween } from '../../domain/instant.ts';
import type { Trace } from '../../domain/trace-context.ts';

/** The result of one fetch. */
export type Fetch<Keys> =
  | { readonly kind: 'fetched'; readonly keys: Keys }
  /** `retryAfter` is the server's `Retry-After` in seconds, if it sent one. */
  | { readonly kind: 'failed'; readonly retryAfter?: number | undefined };

export interface FetchedKeys<Keys> {
  /**
   * Returns the cached keys. If they had to be fetched for this caller, `fresh` is true: a second fetch would bring
   * nothing new.
   */
  current(trace?: Trace, among?: Waiting): Promise<{ readonly keys: Keys | undefined; readonly fresh: boolean }>;
  /** Fetches because the cached keys did not suffice, if a look-up is permitted now. */
  again(trace?: Trace, among?: Waiting): Promise<LookUp<Keys>>;
  /** The keys that `again` returned did suffice: its look-up does not count towards the limit. */
  brought(): void;
  /** Returns the cached keys without waiting. Starts a fetch in the background if one is due. */
  held(trace?: Trace): Keys | undefined;
  /** Fetches if no keys are cached, the cached ones are old, or the last fetch failed and its pause is over. */
  refreshIfDue(): Promise<void>;
  lastFetchedAt(): Instant | undefined;
}

/**
 * How many callers wait for a fetch that nobody has authenticated. Where anybody can present a token, kill switches take
 * permits of the same limiter. While a source does not answer, forged tokens would hold all of them.
 */
export interface Waiting {
  count: number;
}

/** A quarter of the permits on one core. More such callers get the answer of a failed fetch at once. */
const MOST_WAITING = 4;

/** @returns `false` at once if too many wait already */
async function waitFor(fetched: Promise<void>, among: Waiting | undefined): Promise<boolean> {
  if (among !== undefined && among.count >= MOST_WAITING) return false;
  if (among !== undefined) among.count += 1;
  try {
    await fetched;
  } finally {
    if (among !== undefined) among.count -= 1;
  }
  return true;
}

type LookUp<Keys> =
  | { readonly kind: 'fetched'; readonly keys: Keys }
  /** Of a fetch that was already under way: its answer may be older than a key that was missing. */
  | { readonly kind: 'joined'; readonly keys: Keys }
  /** A look-up succeeded a short time ago, and did not bring a key that was missing. */
  | { readonly kind: 'too_early' }
  /** The last fetch failed: the source may have newer keys than the cache. */
  | { readonly kind: 'failed' };

/** Ages of cached keys in seconds. */
interface Ages {
  /** Older keys are refreshed in the background. */
  readonly refreshAfter: number;
  /** For older keys a caller waits until a refresh was attempted, because a key may have been removed. */
  readonly waitAfter?: number;
}

/**
 * The shortest time between two successful fetches that a client causes with an invented `kid`. Only fetches that did not
 * bring the missing key count.
 */
const LOOK_AGAIN_SECONDS = 30;
/**
 * The pause from the start of a failed fetch, which may itself have lasted until its time limit. It doubles with each
 * further failure.
 */
const FIRST_PAUSE_SECONDS = 1;
/** The longest pause while requests need a key that is not cached: they fail until it is fetched. */
const MAX_PAUSE_IN_NEED_SECONDS = 4;
/** The longest pause while the cached keys suffice. */
const MAX_PAUSE_SECONDS = 30;
/** The longest heeded `Retry-After`. A longer one would outlast most outages. */
const MAX_RETRY_AFTER_SECONDS = 300;

interface Failure {
  readonly startedAt: Instant;
  readonly endedAt: Instant;
  /** The failures in a row, with this one. */
  readonly times: number;
  readonly retryAfter: number;
}

/** @param fetch logs why it fails. It never throws */
export function fetchedKeys<Keys>(
  fetch: (trace: Trace | undefined) => Promise<Fetch<Keys>>,
  clock: Clock,
  ages: Ages,
): FetchedKeys<Keys> {
  let held: { readonly keys: Keys; readonly at: Instant } | undefined;
  /** Set while the last fetch failed. */
  let failure: Failure | undefined;
  let lookedAgainAt: Instant | undefined;
  let underWay: Promise<void> | undefined;

  /** Whether the time has passed. A time in the future means that the clock was set back, and counts as passed. */
  function passed(since: Instant | undefined, seconds: number): boolean {
    if (since === undefined) return true;
    const age = secondsBetween(since, clock.now());
    return age < 0 || age >= seconds;
  }

  /** Whether the pause after a failed fetch is over. @param longest without a `Retry-After` */
  function mayRetry({ startedAt, endedAt, times, retryAfter }: Failure, longest: number): boolean {
    const pause = Math.min(FIRST_PAUSE_SECONDS * 2 ** (times - 1), longest);
    return passed(startedAt, pause) && passed(endedAt, retryAfter);
  }

  function isDue(): boolean {
    if (failure !== undefined) {
      return mayRetry(failure, held === undefined ? MAX_PAUSE_IN_NEED_SECONDS : MAX_PAUSE_SECONDS);
    }
    return held === undefined || passed(held.at, ages.refreshAfter);
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
    const result = await fetch(trace);
    if (result.kind === 'fetched') {
      held = { keys: result.keys, at };
      failure = undefined;
      return;
    }
    const retryAfter = Math.min(result.retryAfter ?? 0, MAX_RETRY_AFTER_SECONDS);
    failure = { startedAt: at, endedAt: clock.now(), times: (failure?.times ?? 0) + 1, retryAfter };
  }

  return {
    async current(trace, among) {
      const due = isDue();
      if (due || (held === undefined && underWay !== undefined)) {
        const fetched = fetchShared(trace);
        const mustWait = held === undefined || (ages.waitAfter !== undefined && passed(held.at, ages.waitAfter));
        if (mustWait) {
          if (!(await waitFor(fetched, among))) return { keys: undefined, fresh: false };
          return { keys: held?.keys, fresh: failure === undefined };
        }
      }
      return { keys: held?.keys, fresh: false };
    },
    async again(trace, among) {
      const isFirst = underWay === undefined;
      if (isFirst) {
        // Without a failure, the limit keeps clients from causing fetches at will. With one, the pauses do.
        if (failure !== undefined && !mayRetry(failure, MAX_PAUSE_IN_NEED_SECONDS)) return { kind: 'failed' };
        if (failure === undefined && !passed(lookedAgainAt, LOOK_AGAIN_SECONDS)) return { kind: 'too_early' };
      }
      const before = held;
      const at = clock.now();
      if (!(await waitFor(fetchShared(trace), among))) return { kind: 'failed' };
      if (held === undefined || held === before) return { kind: 'failed' };
      if (!isFirst) return { kind: 'joined', keys: held.keys };
      lookedAgainAt = at;
      return { kind: 'fetched', keys: held.keys };
    },
    brought() {
      lookedAgainAt = undefined;
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
