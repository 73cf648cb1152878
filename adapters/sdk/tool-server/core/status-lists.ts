/**
 * Polls the control plane's status lists, one poller for each list. The first token of a list starts its poller; without
 * tokens the poller stops. A request only looks up its task in the list that was fetched last.
 */

import {
  MAX_CONFIRMED_TTLS,
  STATUS_BITS,
  statusAt as statusIn,
  statusListUri,
  taskStatus,
} from '../../../../domain/tasks/status-list.ts';
import type { Claims } from '../../../../domain/tokens/claims.ts';
import { CLOCK_SKEW_SECONDS } from '../../../../domain/tokens/compact-jws.ts';
import { isJsonObject, member } from '../../../../domain/tokens/strict-json.ts';
import type { ControlPlane } from './control-plane.ts';
import type { ControlPlaneKeys } from './control-plane-keys.ts';
import type { CheckedOptions } from './options.ts';
import { readStatusList, type StatusList } from './status-list-token.ts';

export interface StatusLists {
  /** The status of the token's task; never throws. @param signed the claims of a token that the control plane signed */
  statusOf(signed: Claims): Promise<ListedStatus>;
}

type ListedStatus =
  /** `ask`: only introspection knows. One of the task's tokens was revoked, or the token is newer than the list. */
  | { readonly kind: 'active' | 'not_active' | 'ask' }
  /** No fresh list of this control plane has the task. */
  | { readonly kind: 'unknown'; readonly retryAfter: string | undefined };

/** Time for the pollers. A test moves its own. */
export interface PollClock {
  /** Milliseconds; never moved back. */
  monotonic(): number;
  after(ms: number, work: () => unknown): void;
}

interface Parts {
  readonly plane: Pick<ControlPlane, 'statusList'>;
  readonly keys: ControlPlaneKeys;
  readonly options: Pick<CheckedOptions, 'issuer' | 'clockSkewSeconds' | 'timeoutMs' | 'now'>;
  readonly maxAgeMs: number;
  /** Gets the first failure of a list after a success. */
  readonly report: (error: Error) => void;
  readonly clock?: PollClock;
}

/** One poll may fail, and the list in force is still fresh when the next one starts. */
const POLLS_PER_MAX_AGE = 2;
/** A poll takes the place of one that failed after this share of the interval, and then after twice as long each time. */
const FIRST_RETRY = 1 / 4;
/** A poller stops after this many intervals without a token of its list. */
const IDLE_POLLS = 6;
/** Only base64url, so that the address cannot leave `/status/`. */
const LIST_ID = /^[A-Za-z0-9_-]{1,64}$/;

const systemClock: PollClock = {
  monotonic: () => performance.now(),
  after: (ms, work) => void setTimeout(work, ms).unref(),
};

export function statusLists(parts: Parts): StatusLists {
  const prefix = statusListUri(parts.options.issuer, '');
  const pollers = new Map<string, Poller>();

  function pollerOf(uri: string): Poller {
    const known = pollers.get(uri);
    if (known !== undefined) return known;
    for (const [other, poller] of pollers) if (poller.isOver()) pollers.delete(other);
    const poller = pollList(uri, parts);
    pollers.set(uri, poller);
    return poller;
  }

  return {
    async statusOf({ expiry = Number.POSITIVE_INFINITY, issuedAt, json }) {
      const status = member(json, 'status');
      const reference = isJsonObject(status) ? member(status, 'status_list') : undefined;
      const { uri, idx } = isJsonObject(reference) ? reference : {};
      const isOurs = typeof uri === 'string' && uri.startsWith(prefix) && LIST_ID.test(uri.slice(prefix.length));
      // Some time after the token's expiry the index may be that of another task.
      const isKept = (expiry + CLOCK_SKEW_SECONDS) * 1000 > parts.options.now();
      if (!isOurs || !isKept || typeof idx !== 'number' || !Number.isSafeInteger(idx) || idx < 0) {
        return { kind: 'unknown', retryAfter: undefined };
      }
      return pollerOf(uri).statusAt(idx, issuedAt);
    },
  };
}

interface Poller {
  /** @param issuedAt the `iat` of the token */
  statusAt(index: number, issuedAt: number | undefined): Promise<ListedStatus>;
  /** Whether it has stopped, and its list has expired: then no earlier list can be replayed to a new poller. */
  isOver(): boolean;
}

/** The start of a fetch: by the monotonic clock, and by the other one. */
interface Began {
  readonly at: number;
  readonly wallAt: number;
}

/** The list in force, and the start of the fetch that brought or confirmed it. */
interface Held extends Began {
  readonly list: StatusList;
  readonly etag: string | undefined;
  /** The start of the fetch that brought it, by the monotonic clock. */
  readonly first: number;
}

type Failure = { readonly problem: string; readonly retryAfter?: string | undefined };

function pollList(uri: string, { plane, keys, options, maxAgeMs, report, clock = systemClock }: Parts): Poller {
  const { issuer, clockSkewSeconds, now } = options;
  const interval = maxAgeMs / POLLS_PER_MAX_AGE;
  let held: Held | undefined;
  let failure: Failure | undefined;
  /** The first poll since the poller started: the tokens of its list wait for it. */
  let starting: Promise<void> | undefined;
  let isPolling = false;
  let lastToken = 0;
  let failures = 0;

  async function poll(): Promise<void> {
    // Taken before the request is sent, because the answer may be that old.
    const at = clock.monotonic();
    const fetched = await fetchList(at).catch((error: unknown) => ({ problem: `An error occurred: ${error}` }));
    if ('list' in fetched) {
      held = fetched;
      failure = undefined;
      failures = 0;
    } else {
      if (failure === undefined) report(new Error(`The status list ${uri} is not usable. ${fetched.problem}`));
      failure = fetched;
      failures += 1;
    }
    // From the answer on: without ETags each poll needs a newer list, which is there by then if its ttl has passed.
    if (failures === 0) return clock.after(untilNext(), next);
    const wait = Math.min(interval, interval * FIRST_RETRY * 2 ** (failures - 1));
    return clock.after(Math.max(0, at + wait - clock.monotonic()), next);
  }

  /** The next list must come before this one expires, however long `maxAgeMs` is. */
  function untilNext(): number {
    if (held === undefined) return interval;
    const { exp, ttl } = held.list;
    const halfLeft = ((exp + clockSkewSeconds) * 1000 - now()) / 2;
    return Math.min(interval, Math.max(halfLeft, ttl * 1000));
  }

  function next(): Promise<void> | undefined {
    if (clock.monotonic() - lastToken <= IDLE_POLLS * interval) return poll();
    isPolling = false;
    return undefined;
  }

  async function fetchList(at: number): Promise<Held | Failure> {
    const began = { at, wallAt: now() };
    const known = held !== undefined && isRecent(held.list, held.first, began) ? held : undefined;
    // While the list in force is fresh, a poll without an answer leaves time for another one.
    const timeoutMs = Math.min(options.timeoutMs, fresh() === undefined ? interval : interval / 2);
    const answer = await plane.statusList(uri.slice(issuer.length), known?.etag, timeoutMs);
    if (answer === undefined) return { problem: 'No complete answer came.' };
    const { status, body, etag = known?.etag } = answer;
    if (status === 304) {
      // Only our own ETag can have been confirmed.
      return known?.etag !== undefined && etag === known.etag
        ? { ...known, ...began }
        : { problem: 'The answer is 304 for an ETag that was not sent.' };
    }
    if (status !== 200) return { problem: `The answer has the status ${status}.`, retryAfter: answer.retryAfter };
    if (!answer.isStatusList) return { problem: 'The answer is not of the type application/statuslist+jwt.' };
    const read = await readStatusList(keys, body, { uri, clockSkewSeconds, now: Math.floor(now() / 1000) });
    if (read.kind === 'refused') return read;
    const { list } = read;
    if (!isRecent(list, at, began)) return { problem: `Its iat is over ${MAX_CONFIRMED_TTLS} times its ttl ago.` };
    // Of two lists that replicas made in one second, the one in force stays: the other one may be the older.
    if (held !== undefined && list.iat <= held.list.iat) return { problem: 'It is not newer than the list before.' };
    return { list, etag: answer.etag, first: at, ...began };
  }

  /**
   * Whether an honest control plane may still answer with this list, or confirm it. Both may be replayed: a 304 is not
   * signed, and a new poller knows no earlier list. An old list is fetched without its ETag. The skew makes the age of a
   * list that a new poller gets up to so much longer: the control plane's clock made the `iat`.
   *
   * @param first the start of the fetch that brought the list
   */
  function isRecent({ iat, ttl }: StatusList, first: number, { at, wallAt }: Began): boolean {
    return Math.max(at - first, wallAt - (iat + clockSkewSeconds) * 1000) <= MAX_CONFIRMED_TTLS * ttl * 1000;
  }

  /** By both clocks: the monotonic one is never moved back, and the other one also runs while the machine is suspended. */
  function fresh(): StatusList | undefined {
    if (held === undefined || isExpired(held.list)) return undefined;
    return Math.max(clock.monotonic() - held.at, now() - held.wallAt) <= maxAgeMs ? held.list : undefined;
  }

  function isExpired({ exp }: StatusList): boolean {
    return (exp + clockSkewSeconds) * 1000 <= now();
  }

  return {
    async statusAt(index, issuedAt) {
      lastToken = clock.monotonic();
      if (!isPolling) {
        isPolling = true;
        starting = poll().finally(() => {
          starting = undefined;
        });
      }
      let list = fresh();
      if (list === undefined && starting !== undefined) {
        await starting;
        list = fresh();
      }
      if (list === undefined) return { kind: 'unknown', retryAfter: failure?.retryAfter };
      const value = statusIn(list.bytes, STATUS_BITS, index);
      if (value === taskStatus.valid) return { kind: 'active' };
      // The list may show the task that had the index before, or an agent that was enabled again.
      const isNewer = issuedAt !== undefined && issuedAt >= list.iat;
      return { kind: value === taskStatus.ask || (value !== undefined && isNewer) ? 'ask' : 'not_active' };
    },
    isOver: () => !isPolling && (held === undefined || isExpired(held.list)),
  };
}
