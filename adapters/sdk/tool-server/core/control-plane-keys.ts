/**
 * Caches the control plane's keys (specification "Tool-server contract" 1). Keys stay fresh for ten minutes. An unknown
 * `kid` causes at most one fetch in thirty seconds. A failed fetch keeps the cached keys. Concurrent requests share one
 * fetch, which belongs to the trace of the first.
 */

import { KeyObject, verify } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { importJWK } from 'jose';
import { readKeySet } from '../../../../domain/agents/key-set.ts';
import type { UsableKey } from '../../../../domain/agents/public-key.ts';
import { type Json, parseStrictJson } from '../../../../domain/tokens/strict-json.ts';
import type { ControlPlane } from './control-plane.ts';

export interface ControlPlaneKeys {
  /** @param cause the headers of the request for which the key is needed */
  find(keyId: string, cause?: IncomingHttpHeaders): Promise<FoundKey>;
}

type FoundKey =
  | { readonly kind: 'found'; readonly key: KeyObject }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'unavailable'; readonly retryAfter: string | undefined };

const MS = 1000;
const SERVED_MS = 10 * 60 * MS;
/** Tokens with invented `kid`s cause at most one fetch in this time. */
const LOOK_AGAIN_MS = 30 * MS;
/** The wait after a failed fetch while keys are cached. No request waits for the next fetch. */
const RETRY_MS = 30 * MS;
/** The wait after a failed fetch without cached keys. It is short, because every request is refused meanwhile. */
const COOL_DOWN_MS = 1 * MS;

interface Cache {
  readonly plane: Pick<ControlPlane, 'get'>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  held: { readonly keys: KeySet; readonly at: number } | undefined;
  /** Set while the last fetch failed. */
  failed: { readonly at: number; readonly retryAfter: string | undefined } | undefined;
  lookedAgainAt: number | undefined;
  underWay: Promise<void> | undefined;
  /** The number of fetches that were started. */
  begun: number;
}

/** @param now milliseconds since 1970 */
export function controlPlaneKeys(plane: Pick<ControlPlane, 'get'>, now: () => number): ControlPlaneKeys {
  const cache: Cache = {
    plane,
    now,
    held: undefined,
    failed: undefined,
    lookedAgainAt: undefined,
    underWay: undefined,
    begun: 0,
  };
  return { find: (keyId, cause) => findKey(cache, keyId, cause) };
}

async function findKey(cache: Cache, keyId: string, cause: IncomingHttpHeaders | undefined): Promise<FoundKey> {
  const asked = cache.begun;
  await refresh(cache, cause);
  let key = cache.held?.keys.get(keyId);
  if (key === undefined && cache.underWay !== undefined) {
    await cache.underWay;
    key = cache.held?.keys.get(keyId);
  }
  // A fetch that began before this call may have been answered before the key was published, so it does not count.
  const looked = cache.begun > asked;
  if (key === undefined && cache.held !== undefined && !looked && passed(cache, cache.lookedAgainAt, LOOK_AGAIN_MS)) {
    cache.lookedAgainAt = cache.now();
    await fetchShared(cache, cause);
    key = cache.held.keys.get(keyId);
  }
  if (key !== undefined) return { kind: 'found', key };
  return cache.held === undefined ? { kind: 'unavailable', retryAfter: cache.failed?.retryAfter } : { kind: 'unknown' };
}

/** Fetches missing keys, and tries to renew keys that are no longer fresh. */
async function refresh(cache: Cache, cause: IncomingHttpHeaders | undefined): Promise<void> {
  const { held, failed, underWay } = cache;
  if (held === undefined) {
    if (underWay !== undefined || passed(cache, failed?.at, COOL_DOWN_MS)) await fetchShared(cache, cause);
  } else if (passed(cache, held.at, SERVED_MS)) {
    // In an outage only the first request waits for a fetch; later ones use the cached keys at once.
    if (failed === undefined) await fetchShared(cache, cause);
    else if (passed(cache, failed.at, RETRY_MS)) void fetchShared(cache, cause);
  }
}

function fetchShared(cache: Cache, cause: IncomingHttpHeaders | undefined): Promise<void> {
  cache.underWay ??= fetchNow(cache, cause).finally(() => {
    cache.underWay = undefined;
  });
  return cache.underWay;
}

async function fetchNow(cache: Cache, cause: IncomingHttpHeaders | undefined): Promise<void> {
  // Taken before the request is sent, because the answer may be that old.
  const at = cache.now();
  cache.begun += 1;
  const answer = await cache.plane.get('/.well-known/jwks.json', cause);
  // A set without a usable key is a mistake, so it counts as a failed fetch.
  const keys = answer?.status === 200 ? await importKeySet(parseStrictJson(answer.body)) : undefined;
  if (keys !== undefined) cache.held = { keys, at };
  cache.failed = keys === undefined ? { at: cache.now(), retryAfter: answer?.retryAfter } : undefined;
}

/** Whether the time has passed. A time in the future means that the clock was set back, and counts as passed. */
function passed({ now }: Cache, since: number | undefined, length: number): boolean {
  if (since === undefined) return true;
  const age = now() - since;
  return age < 0 || age >= length;
}

export const ALGORITHM = 'ES256';

/** Keys by `kid`. A key without a `kid` is left out, because no token can name it. */
type KeySet = ReadonlyMap<string, KeyObject>;

/** Returns the keys of a published set that can verify task tokens. `undefined` if the set has no such key. */
async function importKeySet(jwks: Json | undefined): Promise<KeySet | undefined> {
  const usable = readKeySet(jwks, { algorithms: [ALGORITHM], kinds: 'an EC key on P-256' })?.usable ?? [];
  // The control plane gives each key another `kid`. One that two keys have names neither.
  const unique = usable.filter(({ jwk }) => usable.filter((other) => other.jwk.kid === jwk.kid).length === 1);
  const imported = await Promise.all(unique.map(importKey));
  const keys = new Map(imported.filter((entry) => entry !== undefined));
  return keys.size === 0 ? undefined : keys;
}

async function importKey({ jwk }: UsableKey): Promise<readonly [string, KeyObject] | undefined> {
  const { kid, kty, crv = '', x = '', y = '' } = jwk;
  if (kid === undefined) return undefined;
  try {
    const key = await importJWK({ kty, crv, x, y }, ALGORITHM);
    return key instanceof Uint8Array ? undefined : [kid, KeyObject.from(key)];
  } catch {
    // The coordinates are not a point on the curve.
    return undefined;
  }
}

/**
 * Whether the key made the token's ES256 signature. node:crypto verifies it in the thread pool. A JWT library would parse
 * the token again, which the strict parser has parsed.
 *
 * @param token three canonical segments that the strict parser accepted
 */
export function hasSignatureOf(key: KeyObject, token: string): Promise<boolean> {
  const end = token.lastIndexOf('.');
  const signature = Buffer.from(token.slice(end + 1), 'base64url');
  return new Promise((resolve, reject) => {
    const input = Buffer.from(token.slice(0, end));
    verify('sha256', input, { key, dsaEncoding: 'ieee-p1363' }, signature, (fault, valid) =>
      fault === null ? resolve(valid) : reject(fault),
    );
  });
}
