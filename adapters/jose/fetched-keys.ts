/**
 * Caches remote keys, and decides when to fetch them (supplement "Client assertions", remote key sets). Concurrent callers
 * share one fetch. A failed fetch keeps the last good set. Clients cannot trigger fetches at will. A fetch belongs to the
 * trace of the caller that started it.
 */

import type { Clock } from '../../application/ports/runtime.ts';
import { type Instant, secondsBetween } from '../../domain/instant.ts';
import type { Trace } from '../../domain/trace-context.ts';
import { type KeyAddress, keyAddress, type Waiter, waitWithoutPermit } from './key-waits.ts';

/** The result of one fetch. */
export type Fetch<Keys> =
  | { readonly kind: 'fetched'; readonly keys: Keys }
  /** `retryAfter` is the server's `Retry-After` in seconds, if it sent one. */
  | { readonly kind: 'failed'; readonly retryAfter?: number | undefined; readonly timedOut?: boolean };

export interface FetchedKeys<Keys> {
  /**
   * Returns the cached keys. If they had to be fetched for this caller, `fresh` is true: a second fetch would bring
   * nothing new.
   */
  current(trace?: Trace, waiter?: Waiter): Promise<{ readonly keys: Keys | undefined; readonly fresh: boolean }>;
  /** Fetches because the cached keys did not suffice, if a look-up is permitted now. */
  again(trace?: Trace, waiter?: Waiter): Promise<LookUp<Keys>>;
  /** The keys that `again` returned did suffice: its look-up does not count towards the limit. */
  brought(): void;
  /** Returns the cached keys without waiting. Starts a fetch in the background if one is due. */
  held(trace?: Trace): Keys | undefined;
  /** Fetches if no keys are cached, the cached ones are old, or the last fetch failed and its pause is over. */
  refreshIfDue(): Promise<void>;
  lastFetchedAt(): Instant | undefined;
}

type LookUp<Keys> =
  | { readonly kind: 'fetched'; readonly keys: Keys }
  /** The keys of a fetch that was already under way: its answer may be older than a key that was missing. */
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
/** The pause from the end of a failed fetch. It doubles with each further failure. */
const FIRST_PAUSE_SECONDS = 1;
/** The longest pause while requests need a key that is not cached: they fail until it is fetched. */
const MAX_PAUSE_IN_NEED_SECONDS = 4;
/** The longest pause while the cached keys suffice. */
const MAX_PAUSE_SECONDS = 30;
/** The longest heeded `Retry-After`. A longer one would outlast most outages. */
const MAX_RETRY_AFTER_SECONDS = 300;

/**
 * After a fetch ends at its time limit, no caller waits for this address for this time, which begins at the end of the fetch.
 * Fetches go on in the background, so that the keys are cached soon after their host answers again.
 */
const NOT_WAITED_FOR_SECONDS = 30;

/** Keys older than this make readiness `Degraded` (specification "Limits", key fetch staleness). */
const STALE_SECONDS = 15 * 60;

export function isStale(fetchedAt: Instant | undefined, clock: Clock): boolean {
  return fetchedAt !== undefined && secondsBetween(fetchedAt, clock.now()) > STALE_SECONDS;
}

interface Failure {
  readonly endedAt: Instant;
  /** The failures in a row, with this one. */
  readonly times: number;
  readonly retryAfter: number;
}

interface Cache<Keys> {
  readonly fetch: (trace: Trace | undefined) => Promise<Fetch<Keys>>;
  readonly clock: Clock;
  readonly ages: Ages;
  readonly address: KeyAddress;
  held: { readonly keys: Keys; readonly at: Instant } | undefined;
  /** Set while the last fetch failed. */
  failure: Failure | undefined;
  lookedAgainAt: Instant | undefined;
  underWay: Promise<void> | undefined;
}

/**
 * @param fetch logs why it fails. It never throws
 * @param address shared with other caches of the same URI
 */
export function fetchedKeys<Keys>(
  fetch: (trace: Trace | undefined) => Promise<Fetch<Keys>>,
  clock: Clock,
  ages: Ages,
  address: KeyAddress = keyAddress(),
): FetchedKeys<Keys> {
  const cache: Cache<Keys> = {
    fetch,
    clock,
    ages,
    address,
    held: undefined,
    failure: undefined,
    lookedAgainAt: undefined,
    underWay: undefined,
  };

  return {
    async current(trace, waiter) {
      const due = isDue(cache);
      if (due || (cache.held === undefined && cache.underWay !== undefined)) {
        const fetched = fetchShared(cache, trace);
        const { held } = cache;
        const mustWait = held === undefined || (ages.waitAfter !== undefined && passed(clock, held.at, ages.waitAfter));
        if (mustWait) {
          const waited = await waitFor(cache, fetched, waiter);
          if (waited === 'too_many') return { keys: undefined, fresh: false };
          if (waited === 'silent') return { keys: cache.held?.keys, fresh: false };
          return { keys: cache.held?.keys, fresh: cache.failure === undefined };
        }
      }
      return { keys: cache.held?.keys, fresh: false };
    },
    again: (trace, waiter) => lookAgain(cache, trace, waiter),
    brought() {
      cache.lookedAgainAt = undefined;
    },
    held(trace) {
      if (isDue(cache)) void fetchShared(cache, trace);
      return cache.held?.keys;
    },
    async refreshIfDue() {
      if (isDue(cache)) await fetchShared(cache, undefined);
    },
    lastFetchedAt: () => cache.held?.at,
  };
}

async function lookAgain<Keys>(
  cache: Cache<Keys>,
  trace: Trace | undefined,
  waiter: Waiter | undefined,
): Promise<LookUp<Keys>> {
  const { clock, failure, held: before } = cache;
  const isFirst = cache.underWay === undefined;
  if (isFirst) {
    // Without a failure, the limit keeps clients from causing fetches at will. With one, the pauses do.
    if (failure !== undefined && !mayRetry(clock, failure, MAX_PAUSE_IN_NEED_SECONDS)) return { kind: 'failed' };
    if (failure === undefined && !passed(clock, cache.lookedAgainAt, LOOK_AGAIN_SECONDS)) return { kind: 'too_early' };
  }
  const at = clock.now();
  const fetched = fetchShared(cache, trace);
  // Counts also if this caller does not wait for it.
  const counted = isFirst
    ? fetched.then(() => {
        if (cache.held !== before) cache.lookedAgainAt = at;
      })
    : fetched;
  if ((await waitFor(cache, counted, waiter)) !== 'waited') return { kind: 'failed' };
  const { held } = cache;
  if (held === undefined || held === before) return { kind: 'failed' };
  return { kind: isFirst ? 'fetched' : 'joined', keys: held.keys };
}

/**
 * Waits for a fetch without a permit. It does not wait if the last fetch of the address timed out a short time ago (`silent`).
 * Nor does it if too many callers wait at this endpoint (`too_many`).
 */
async function waitFor<Keys>(
  { address, clock }: Pick<Cache<Keys>, 'address' | 'clock'>,
  fetched: Promise<void>,
  waiter: Waiter | undefined,
): Promise<'waited' | 'silent' | 'too_many'> {
  if (address.timedOutAt !== undefined && !passed(clock, address.timedOutAt, NOT_WAITED_FOR_SECONDS)) return 'silent';
  if (waiter === undefined) {
    await fetched;
    return 'waited';
  }
  return (await waitWithoutPermit(waiter, address, fetched)) ? 'waited' : 'too_many';
}

function fetchShared<Keys>(cache: Cache<Keys>, trace: Trace | undefined): Promise<void> {
  cache.underWay ??= fetchNow(cache, trace).finally(() => {
    cache.underWay = undefined;
  });
  return cache.underWay;
}

async function fetchNow<Keys>(cache: Cache<Keys>, trace: Trace | undefined): Promise<void> {
  // Taken before the request is sent, because the response may be as old as that.
  const at = cache.clock.now();
  const result = await cache.fetch(trace);
  cache.address.timedOutAt = result.kind === 'failed' && result.timedOut ? cache.clock.now() : undefined;
  if (result.kind === 'fetched') {
    cache.held = { keys: result.keys, at };
    cache.failure = undefined;
    return;
  }
  const retryAfter = Math.min(result.retryAfter ?? 0, MAX_RETRY_AFTER_SECONDS);
  const times = (cache.failure?.times ?? 0) + 1;
  cache.failure = { endedAt: cache.clock.now(), times, retryAfter };
}

function isDue<Keys>({ clock, ages, held, failure }: Cache<Keys>): boolean {
  if (failure !== undefined) {
    return mayRetry(clock, failure, held === undefined ? MAX_PAUSE_IN_NEED_SECONDS : MAX_PAUSE_SECONDS);
  }
  return held === undefined || passed(clock, held.at, ages.refreshAfter);
}

/** Whether the pause after a failed fetch is over. @param longest without a `Retry-After` */
function mayRetry(clock: Clock, { endedAt, times, retryAfter }: Failure, longest: number): boolean {
  const pause = Math.min(FIRST_PAUSE_SECONDS * 2 ** (times - 1), longest);
  return passed(clock, endedAt, Math.max(pause, retryAfter));
}

/** Whether the time has passed. A time in the future means that the clock was set back, and counts as passed. */
function passed(clock: Clock, since: Instant | undefined, seconds: number): boolean {
  if (since === undefined) return true;
  const age = secondsBetween(since, clock.now());
  return age < 0 || age >= seconds;
}
