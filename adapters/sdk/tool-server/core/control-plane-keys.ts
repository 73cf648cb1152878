/**
 * The control plane's keys, and when they are fetched (specification "Tool-server contract" 1): served from memory for
 * ten minutes, looked for again at most every thirty seconds when a token names an unknown one, and never given up for
 * a fetch that failed. All who wait share one fetch.
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
/** Somebody who invents a `kid` can cause no more than one fetch in this time. */
const LOOK_AGAIN_MS = 30 * MS;
/** After a failed fetch, with keys held: the next try is made beside the requests, and nobody waits for it. */
const RETRY_MS = 30 * MS;
/** After a failed fetch, with no keys: short, since nobody can be served; long enough not to hammer. */
const COOL_DOWN_MS = 1 * MS;

/** @param now milliseconds since 1970 */
export function controlPlaneKeys(plane: ControlPlane, now: () => number): ControlPlaneKeys {
  let held: { readonly keys: KeySet; readonly at: number } | undefined;
  let failed: { readonly at: number; readonly retryAfter: string | undefined } | undefined;
  let lookedAgainAt: number | undefined;
  let underWay: Promise<void> | undefined;
  /** How many fetches there have been. */
  let begun = 0;

  /** A time that is in the future, the clock having been put back, is as good as long ago. */
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
    // Taken before the question goes out: the answer may be as old as that.
    const at = now();
    begun += 1;
    const answer = await plane.get('/.well-known/jwks.json');
    // No control plane means to publish a set without one usable key: that fetch failed too.
    const keys = answer?.status === 200 ? await importKeySet(parseStrictJson(answer.body)) : undefined;
    if (keys !== undefined) held = { keys, at };
    failed = keys === undefined ? { at: now(), retryAfter: answer?.retryAfter } : undefined;
  }

  /** Makes sure that there are keys, and that they are not too old to be used without having tried for newer ones. */
  async function refresh(): Promise<void> {
    if (held === undefined) {
      if (underWay !== undefined || passed(failed?.at, COOL_DOWN_MS)) await fetchShared();
    } else if (passed(held.at, SERVED_MS)) {
      // An outage stops the first request that meets it for as long as a fetch may take, and none after that.
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
      // A fetch that began before the question may have been answered before the key was published.
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
