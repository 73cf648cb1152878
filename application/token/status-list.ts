/**
 * Status lists (draft-ietf-oauth-status-list-20 §5.1), read from the tables when a client asks, at most once per `ttl` and
 * replica. Replicas need no agreement, and a restart loses nothing. A list that the client has is not signed again.
 */

import { type Instant, secondsBetween } from '../../domain/instant.ts';
import {
  isStatusListId,
  packStatuses,
  STATUS_LIST_TYPE,
  statusesOf,
  statusListClaims,
  statusListEpoch,
  statusListUri,
} from '../../domain/tasks/status-list.ts';
import type { SigningKeys } from '../ports/keys.ts';
import type { Clock, Deflate, Hash, Monotonic } from '../ports/runtime.ts';
import type { StatusLists } from '../ports/status-lists.ts';
import type { Measurements } from '../ports/telemetry.ts';

interface ReadTimes {
  readonly clock: Clock;
  readonly monotonic: Monotonic;
  /** Seconds: `Service:StatusLists:Ttl`. */
  readonly ttl: number;
}

interface StatusListReading extends ReadTimes {
  readonly statusLists: Pick<StatusLists, 'find'>;
  readonly signingKeys: SigningKeys;
  readonly deflate: Deflate;
  readonly hash: Hash;
  readonly issuer: string;
  /** `Service:StatusLists:Entries`. */
  readonly entries: number;
  readonly measurements: Pick<Measurements, 'statusListRead' | 'statusListFailed'> | undefined;
}

export interface PublishedStatusList {
  /**
   * The opaque part of the ETag, the same at every replica: of the statuses, the ttl, the active key, and the epoch, so that
   * no client keeps one token until it expires.
   */
  readonly tag: string;
  /** The text of the token, which is signed for the first caller. */
  token(): Promise<Uint8Array>;
}

/** When a read of the tables began: it may not show what was committed later. */
interface Began {
  readonly readAt: Instant;
  readonly readAtMs: number;
}

interface Read extends Began {
  readonly list: Promise<PublishedStatusList | undefined>;
}

/**
 * For all cached lists. A list takes at most three quarters of a byte for each index: two bits for the status, and the
 * rest for the token, which holds them in base64url twice.
 */
const MAX_BYTES = 64 * 1024 * 1024;

interface State extends StatusListReading {
  /** The oldest first. It holds only lists that exist: any client may ask for other ids, which must not evict them. */
  readonly kept: Map<string, Read>;
  /** The reads under way. Requests for one list share a read, so there are at most as many reads as requests. */
  readonly underWay: Map<string, Read>;
}

/**
 * The returned function finds a list; `undefined` if there is no such list. A list that it returns was read less than `ttl`
 * seconds ago, by the clock and by the monotonic one, which no one sets back. Its token's `iat` is the time of that read.
 *
 * @throws StorageUnavailable (the returned function)
 */
export function publishedStatusLists(
  service: StatusListReading,
): (listId: string) => Promise<PublishedStatusList | undefined> {
  const state: State = { ...service, kept: new Map(), underWay: new Map() };
  return async (listId) => {
    if (!isStatusListId(listId)) return undefined;
    const known = [state.underWay.get(listId), state.kept.get(listId)].find((read) => read && isCurrent(state, read));
    const { list } = known ?? begin(state, listId);
    return list;
  };
}

function begin(state: State, listId: string): Read {
  const { kept, underWay, monotonic, measurements } = state;
  const began = beginning(state);
  const { readAt } = began;
  const next: Read = { ...began, list: read(state, listId, readAt) };
  kept.delete(listId);
  underWay.set(listId, next);
  const end = () => {
    if (underWay.get(listId) === next) underWay.delete(listId);
  };
  next.list.then(
    (list) => {
      end();
      if (list === undefined) return;
      keep(state, listId, next);
      measurements?.statusListRead(readAt, (monotonic() - next.readAtMs) / 1000);
    },
    () => {
      end();
      measurements?.statusListFailed();
    },
  );
  return next;
}

async function read(state: State, listId: string, readAt: Instant): Promise<PublishedStatusList | undefined> {
  const { statusLists, signingKeys, deflate, hash, issuer, ttl } = state;
  const stored = await statusLists.find(listId);
  if (stored === undefined) return undefined;
  const packed = packStatuses(stored.entries, statusesOf(stored));
  const about = JSON.stringify([signingKeys.checkpoints.kid, ttl, statusListEpoch(readAt, ttl)]);
  const tag = Buffer.from(hash(Buffer.concat([Buffer.from(about), packed]))).toString('base64url');
  let signed: Promise<Uint8Array> | undefined;
  const sign = async () => {
    const lst = Buffer.from(await deflate(packed)).toString('base64url');
    const claims = statusListClaims({ uri: statusListUri(issuer, listId), readAt, ttl, lst });
    return Buffer.from(await signingKeys.sign(STATUS_LIST_TYPE, claims));
  };
  return {
    tag,
    token() {
      signed ??= sign();
      return signed;
    },
  };
}

function keep({ kept, entries }: State, listId: string, read: Read): void {
  // A slow read may end after one that began later.
  if ((kept.get(listId)?.readAtMs ?? read.readAtMs) > read.readAtMs) return;
  kept.delete(listId);
  kept.set(listId, read);
  const maxLists = Math.floor((4 / 3) * (MAX_BYTES / entries));
  const [oldest] = kept.keys();
  if (kept.size > maxLists && oldest !== undefined) kept.delete(oldest);
}

/**
 * The returned function lists the ids of all lists, the oldest first. They were read less than `ttl` seconds ago, once for
 * all who ask.
 *
 * @throws StorageUnavailable (the returned function)
 */
export function publishedListIds(
  service: ReadTimes & { readonly statusLists: Pick<StatusLists, 'list'> },
): () => Promise<readonly string[]> {
  let latest: (Began & { readonly ids: Promise<readonly string[]> }) | undefined;

  return () => {
    if (latest !== undefined && isCurrent(service, latest)) return latest.ids;
    const next = { ...beginning(service), ids: service.statusLists.list() };
    latest = next;
    next.ids.catch(() => {
      if (latest === next) latest = undefined;
    });
    return next.ids;
  };
}

function beginning({ clock, monotonic }: ReadTimes): Began {
  return { readAt: clock.now(), readAtMs: monotonic() };
}

function isCurrent({ clock, monotonic, ttl }: ReadTimes, { readAt, readAtMs }: Began): boolean {
  const age = secondsBetween(readAt, clock.now());
  return age >= 0 && age < ttl && monotonic() - readAtMs < ttl * 1000;
}
