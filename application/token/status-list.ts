/**
 * Status list tokens (draft-ietf-oauth-status-list-20 §5.1), made from the tables when a client asks, at most once per
 * `ttl` and replica. Replicas need no agreement, and a restart loses nothing.
 */

import { type Instant, secondsBetween } from '../../domain/instant.ts';
import {
  isStatusListId,
  packStatuses,
  STATUS_LIST_TYPE,
  statusesOf,
  statusListClaims,
  statusListUri,
} from '../../domain/tasks/status-list.ts';
import type { SigningKeys } from '../ports/keys.ts';
import type { StatusLists } from '../ports/queries.ts';
import type { Clock, Deflate, Digest, Monotonic } from '../ports/runtime.ts';
import type { Measurements } from '../ports/telemetry.ts';

interface StatusListMaking {
  readonly statusLists: Pick<StatusLists, 'find'>;
  readonly signingKeys: SigningKeys;
  readonly clock: Clock;
  readonly monotonic: Monotonic;
  readonly deflate: Deflate;
  readonly digest: Digest;
  readonly issuer: string;
  /** Seconds: `Service:StatusLists:Ttl`. */
  readonly ttl: number;
  /** `Service:StatusLists:Entries`. */
  readonly entries: number;
  readonly measurements: Pick<Measurements, 'statusListMade' | 'statusListFailed'> | undefined;
}

export interface StatusListToken {
  /** The token's text. */
  readonly bytes: Uint8Array;
  readonly etag: string;
}

interface Made {
  /** When the read of the tables began: it may not show what was committed later. */
  readonly readAt: Instant;
  readonly readAtMs: number;
  readonly token: Promise<StatusListToken | undefined>;
}

/** For the kept tokens. One takes at most half as many bytes as its list has indices: two base64url of 2 bits each. */
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * The returned function finds the token of a list; `undefined` if there is no such list. A token that it returns was read
 * less than `ttl` seconds ago, by the clock and by the monotonic one, which no one sets back.
 *
 * @throws StorageUnavailable (the returned function)
 */
export function statusListTokens(service: StatusListMaking): (listId: string) => Promise<StatusListToken | undefined> {
  const { statusLists, signingKeys, clock, monotonic, deflate, digest, issuer, ttl, entries, measurements } = service;
  const maxLists = Math.floor((2 * MAX_BYTES) / entries);
  /** The oldest first. */
  const made = new Map<string, Made>();

  async function make(listId: string, readAt: Instant): Promise<StatusListToken | undefined> {
    const stored = await statusLists.find(listId);
    if (stored === undefined) return undefined;
    const compressed = await deflate(packStatuses(stored.entries, statusesOf(stored)));
    const lst = Buffer.from(compressed).toString('base64url');
    const claims = statusListClaims({ uri: statusListUri(issuer, listId), readAt, ttl, lst });
    const text = await signingKeys.sign(STATUS_LIST_TYPE, claims);
    return { bytes: Buffer.from(text), etag: `"${digest(text)}"` };
  }

  function isCurrent({ readAt, readAtMs }: Made): boolean {
    const age = secondsBetween(readAt, clock.now());
    return age >= 0 && age < ttl && monotonic() - readAtMs < ttl * 1000;
  }

  function begin(listId: string): Made {
    const readAt = clock.now();
    const next: Made = { readAt, readAtMs: monotonic(), token: make(listId, readAt) };
    made.delete(listId);
    made.set(listId, next);
    const drop = () => {
      if (made.get(listId) === next) made.delete(listId);
    };
    next.token.then(
      (token) => {
        if (token === undefined) drop();
        else measurements?.statusListMade(readAt, (monotonic() - next.readAtMs) / 1000);
      },
      () => {
        drop();
        measurements?.statusListFailed();
      },
    );
    const [oldest] = made.keys();
    if (made.size > maxLists && oldest !== undefined) made.delete(oldest);
    return next;
  }

  return async (listId) => {
    if (!isStatusListId(listId)) return undefined;
    const known = made.get(listId);
    const { token } = known !== undefined && isCurrent(known) ? known : begin(listId);
    return token;
  };
}
