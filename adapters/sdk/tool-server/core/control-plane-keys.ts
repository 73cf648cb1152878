/**
 * Caches the control plane's keys (specification "Tool-server contract" 1). Keys stay fresh for ten minutes. An unknown
 * `kid` causes at most one fetch in thirty seconds. A failed fetch keeps the cached keys. Concurrent requests share one
 * fetch.
 */

import type { KeyObject } from 'node:crypto';
import { parseStrictJson } from '../../../../domain/tokens/strict-json.ts';
import type { ControlPlane } from './control-plane.ts';
import { importKeySet, type KeySet } from './signature.ts';

export interface ControlPlaneKeys {
  find(keyId: string): Promise<FoundKey>;
}

export type FoundKey =
  | { readonly kind: 'found'; readonly key: KeyObject }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'unavailable'; readonly retryAfter: string | undefined };

const MS = 1000;
const SERVED_MS = 10 * 60 * MS;
/** Tokens with invented `kid`s cause at most one fetch in this time. */
const LOOK_AGAIN_MS = 30 * MS;
/** With cached keys, the wait between a failed fetch and the next one. No request waits for that fetch. */
const RETRY_MS = 30 * MS;
/** Without keys, the wait after a failed fetch: short, because every request is refused until keys are there. */
const COOL_DOWN_MS = 1 * MS;

/** @param now milliseconds since 1970 */
export function controlPlaneKeys(plane: ControlPlane, now: () => number): ControlPlaneKeys {
  let held: { readonly keys: KeySet; readonly at: number } | undefined;
  let failed: { readonly at: number; readonly retryAfter: string | undefined } | undefined;
  let lookedAgainAt: number | undefined;
  let underWay: Promise<void> | undefined;
  /** The number of fetches started. */
  let begun = 0;

  /** A time in the future counts as passed: the clock was moved back. */
  function passed(since: number | undefined, length: number): boolean {
    if (since === undefined) return true;
    const age = now() - since;
    return age < 0 || age >= length;
  }

  function fetchShared(): Promise<void> {
    underWay ??= fetchNow().finally(() => {
      underWay = undefined;
    });
    return underWay;
  }

  async function fetchNow(): Promise<void> {
    // Taken before the request is sent, because the answer may be that old.
    const at = now();
    begun += 1;
    const answer = await plane.get('/.well-known/jwks.json');
    // A set without a usable key is a mistake, so it counts as a failed fetch.
    const keys = answer?.status === 200 ? await importKeySet(parseStrictJson(answer.body)) : undefined;
    if (keys !== undefined) held = { keys, at };
    failed = keys === undefined ? { at: now(), retryAfter: answer?.retryAfter } : undefined;
  }

  /** Fetches missing keys, and tries to renew keys that are no longer fresh. */
  async function refresh(): Promise<void> {
    if (held === undefined) {
      if (underWay !== undefined || passed(failed?.at, COOL_DOWN_MS)) await fetchShared();
    } else if (passed(held.at, SERVED_MS)) {
      // In an outage only the first request waits for a fetch; later ones use the cached keys at once.
      if (failed === undefined) await fetchShared();
      else if (passed(failed.at, RETRY_MS)) void fetchShared();
    }
  }

  return {
    async find(keyId) {
      const asked = begun;
      await refresh();
      let key = held?.keys.get(keyId);
      if (key === undefined && underWay !== undefined) {
        await underWay;
        key = held?.keys.get(keyId);
      }
      // A fetch started before this call may have been answered before the key was published, so it does not count.
      const looked = begun > asked;
      if (key === undefined && held !== undefined && !looked && passed(lookedAgainAt, LOOK_AGAIN_MS)) {
        lookedAgainAt = now();
        await fetchShared();
        key = held.keys.get(keyId);
      }
      if (key !== undefined) return { kind: 'found', key };
      return held === undefined ? { kind: 'unavailable', retryAfter: failed?.retryAfter } : { kind: 'unknown' };
    },
  };
}
