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
import type { CheckedIssuer, CheckedOptions } from './options.ts';
import { readStatusList, type StatusList } from './status-list-token.ts';

/** Its message holds no part of a token. */
export class StatusListUnusable extends Error {}

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
  readonly options: Pick<CheckedIssuer, 'issuer'> & Pick<CheckedOptions, 'clockSkewSeconds' | 'timeoutMs' | 'now'>;
  readonly maxAgeMs: number;
  /** Called when a poll fails, if the one before succeeded or was the first. Later failures in a row are not reported. */
  readonly report: (error: Error) => void;
  readonly clock?: PollClock;
}

/** One poll may fail, and the list in force is still fresh when the next one starts. */
const POLLS_PER_MAX_AGE = 2;
/** After a failed poll, the next one follows after this share of the interval. Each further failure doubles the wait. */
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
    for (const [other, poller] of pollers) if (isOver(poller)) pollers.delete(other);
    const poller = createPoller(uri, parts);
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
      return statusAt(pollerOf(uri), idx, issuedAt);
    },
  };
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
  /** The start of the fetch that brought the list, by the monotonic clock. */
  readonly first: number;
}

type Failure = { readonly problem: string; readonly retryAfter?: string | undefined };

interface Poller extends Parts {
  readonly uri: string;
  readonly clock: PollClock;
  readonly intervalMs: number;
  held: Held | undefined;
  /** Why the last poll failed; `undefined` after a success. */
  failure: Failure | undefined;
  /** How many polls failed since the last success. */
  failures: number;
  /** The first poll since the poller started: the tokens of its list wait for it. */
  starting: Promise<void> | undefined;
  isPolling: boolean;
  lastToken: number;
}

function createPoller(uri: string, parts: Parts): Poller {
  return {
    ...parts,
    uri,
    clock: parts.clock ?? systemClock,
    intervalMs: parts.maxAgeMs / POLLS_PER_MAX_AGE,
    held: undefined,
    failure: undefined,
    failures: 0,
    starting: undefined,
    isPolling: false,
    lastToken: 0,
  };
}

/** @param issuedAt the `iat` of the token */
async function statusAt(poller: Poller, index: number, issuedAt: number | undefined): Promise<ListedStatus> {
  poller.lastToken = poller.clock.monotonic();
  if (!poller.isPolling) {
    poller.isPolling = true;
    poller.starting = poll(poller).finally(() => {
      poller.starting = undefined;
    });
  }
  let list = freshList(poller);
  if (list === undefined && poller.starting !== undefined) {
    await poller.starting;
    list = freshList(poller);
  }
  if (list === undefined) return { kind: 'unknown', retryAfter: poller.failure?.retryAfter };
  const value = statusIn(list.bytes, STATUS_BITS, index);
  if (value === taskStatus.valid) return { kind: 'active' };
  // The list may show the task that had the index before, or an agent that was enabled again.
  const isNewer = issuedAt !== undefined && issuedAt >= list.iat;
  return { kind: value === taskStatus.ask || (value !== undefined && isNewer) ? 'ask' : 'not_active' };
}

/** Whether it has stopped, and its list has expired: then no earlier list can be replayed to a new poller. */
function isOver({ isPolling, held, options }: Poller): boolean {
  return !isPolling && (held === undefined || isExpired(held.list, options));
}

async function poll(poller: Poller): Promise<void> {
  const { uri, clock, intervalMs, report } = poller;
  // Taken before the request is sent, because the answer may be that old.
  const at = clock.monotonic();
  const fetched = await fetchList(poller, at).catch((error: unknown) => ({ problem: `An error occurred: ${error}` }));
  const next = () => pollAgain(poller);
  if ('list' in fetched) {
    poller.held = fetched;
    poller.failure = undefined;
    poller.failures = 0;
    // The pause begins with the answer: without ETags each poll needs a newer list, which is there by then if its ttl has passed.
    return clock.after(msUntilNext(poller, fetched.list), next);
  }
  if (poller.failure === undefined) {
    report(new StatusListUnusable(`The status list ${uri} is not usable. ${fetched.problem}`));
  }
  poller.failure = fetched;
  poller.failures += 1;
  const wait = Math.min(intervalMs, intervalMs * FIRST_RETRY * 2 ** (poller.failures - 1));
  return clock.after(Math.max(0, at + wait - clock.monotonic()), next);
}

/** The next list must come before this one expires, however long `maxAgeMs` is. */
function msUntilNext({ options, intervalMs }: Poller, { exp, ttl }: StatusList): number {
  const halfLeft = ((exp + options.clockSkewSeconds) * 1000 - options.now()) / 2;
  return Math.min(intervalMs, Math.max(halfLeft, ttl * 1000));
}

function pollAgain(poller: Poller): Promise<void> | undefined {
  if (poller.clock.monotonic() - poller.lastToken <= IDLE_POLLS * poller.intervalMs) return poll(poller);
  poller.isPolling = false;
  return undefined;
}

async function fetchList(poller: Poller, at: number): Promise<Held | Failure> {
  const { uri, plane, keys, options, held, intervalMs } = poller;
  const { issuer, clockSkewSeconds, now } = options;
  const began = { at, wallAt: now() };
  const known = held !== undefined && isRecent(held.list, held.first, began, clockSkewSeconds) ? held : undefined;
  // While the list in force is fresh, a poll without an answer leaves time for another one.
  const timeoutMs = Math.min(options.timeoutMs, freshList(poller) === undefined ? intervalMs : intervalMs / 2);
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
  if (!isRecent(list, at, began, clockSkewSeconds)) {
    return { problem: `Its iat is over ${MAX_CONFIRMED_TTLS} times its ttl ago.` };
  }
  // Of two lists that replicas made in one second, the one in force stays: the other one may be the older.
  if (held !== undefined && list.iat <= held.list.iat) return { problem: 'It is not newer than the list before.' };
  return { list, etag: answer.etag, first: at, ...began };
}

/**
 * Whether an honest control plane may still answer with this list, or confirm it. Both may be replayed: a 304 is not
 * signed, and a new poller knows no earlier list. An old list is fetched without its ETag. The skew can add up to its
 * own length to the age of a list that a new poller gets: the control plane's clock made the `iat`.
 *
 * @param first the start of the fetch that brought the list
 */
function isRecent({ iat, ttl }: StatusList, first: number, { at, wallAt }: Began, clockSkewSeconds: number): boolean {
  return Math.max(at - first, wallAt - (iat + clockSkewSeconds) * 1000) <= MAX_CONFIRMED_TTLS * ttl * 1000;
}

/** Measures the age by two clocks: the monotonic one never moves back, the other one runs while the machine is suspended. */
function freshList({ held, clock, options, maxAgeMs }: Poller): StatusList | undefined {
  if (held === undefined || isExpired(held.list, options)) return undefined;
  return Math.max(clock.monotonic() - held.at, options.now() - held.wallAt) <= maxAgeMs ? held.list : undefined;
}

function isExpired({ exp }: StatusList, { clockSkewSeconds, now }: Parts['options']): boolean {
  return (exp + clockSkewSeconds) * 1000 <= now();
}
