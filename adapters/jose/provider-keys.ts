/**
 * The published keys of the identity provider, or of a transmitter of signals. They are fetched at the start, every five
 * minutes, and when a token names an unknown key (supplement "Subject tokens"; specification "Public", `/readyz`).
 */

import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { ProviderDescription, ProviderMetadata } from '../../application/ports/identity-provider.ts';
import type { ProviderKeys } from '../../application/ports/keys.ts';
import type { Network, Problem } from '../../application/ports/network.ts';
import type { Clock, ReadinessCheck } from '../../application/ports/runtime.ts';
import type { Log } from '../../application/ports/telemetry.ts';
import { PROVIDER_KEY_RULES } from '../../domain/agents/key-set.ts';
import { toSeconds } from '../../domain/instant.ts';
import type { Trace } from '../../domain/trace-context.ts';
import { atMost } from './cache-size.ts';
import { type Fetch, fetchedKeys, isStale } from './fetched-keys.ts';
import type { KeyRing } from './key-ring.ts';
import type { KeyWaits } from './key-waits.ts';
import { publishedKeys, readPublishedKeys, verifyWithPublished } from './published-keys.ts';

export interface RefreshedProviderKeys extends ProviderKeys {
  /** The same at an endpoint, among whose callers those that need a fetch wait. */
  at(waits: KeyWaits): ProviderKeys;
  /** Fetches the keys, then refreshes them periodically. Resolves after the first fetch, even if it failed. */
  start(): Promise<void>;
  stop(): void;
  /** Fetches if no keys are cached, or the cached ones are old. The timer calls it. */
  refreshIfDue(): Promise<void>;
}

const AGES = { refreshAfter: 5 * 60 };
/** How often the timer checks whether a fetch is due. A provider that starts late is noticed after this time. */
const TICK_MS = 3000;
/** 256 KiB, because providers publish certificate chains with their keys. */
const PUBLISHED = {
  keys: PROVIDER_KEY_RULES,
  maxBytes: 256 * 1024,
  httpsOnly: false,
} as const;
/**
 * Agents present a subject token many times, so its signature is remembered. With more tokens the oldest are forgotten: an
 * entry takes some 100 bytes, and a lost one costs one more verification.
 */
const MAX_VERIFIED = 10_000;

type KeyOwner = 'identity provider' | 'transmitter';

export function providerKeys(
  metadata: ProviderMetadata,
  network: Network,
  clock: Clock,
  log: Log,
  tickMs = TICK_MS,
  owner: KeyOwner = 'identity provider',
): RefreshedProviderKeys {
  const fetch = publishedKeys(network, log, { ...PUBLISHED, owner });
  const published = fetchedKeys((trace) => fetchWithIssuer(metadata, fetch, trace), clock, AGES);
  // A token's hash, and the fingerprint of the key that signed it. The entry is valid while that key is published and the
  // token has not expired. It says nothing about the claims, which the caller checks each time.
  const verified = new LRUCache<string, string>(atMost(MAX_VERIFIED));
  let timer: NodeJS.Timeout | undefined;

  const verifying =
    (among?: KeyWaits): ProviderKeys['verify'] =>
    async (jws, trace, permit) => {
      const digest = hash('sha256', jws.text, 'base64url');
      const fingerprint = verified.get(digest);
      const held = published.held(trace);
      const { expiry = 0 } = jws.claims;
      const hasExpired = expiry <= toSeconds(clock.now());
      if (fingerprint !== undefined) {
        if (held !== undefined && !hasExpired && isPublished(held.ring, fingerprint)) {
          return { kind: 'verified', ...held.issuers };
        }
        verified.delete(digest);
      }
      const waiter = among && { among, permit };
      const verdict = await verifyWithPublished(published, jws, PROVIDER_KEY_RULES.algorithms, trace, waiter);
      if (verdict.kind !== 'verified') return verdict;
      if (!hasExpired) verified.set(digest, verdict.key.fingerprint);
      return { kind: 'verified', ...verdict.keys.issuers };
    };

  return {
    verify: verifying(),
    at: (waits) => ({ verify: verifying(waits), lastFetchedAt: published.lastFetchedAt }),
    lastFetchedAt: published.lastFetchedAt,
    refreshIfDue: () => published.refreshIfDue(),
    start() {
      timer ??= setInterval(() => void published.refreshIfDue(), tickMs).unref();
      return published.refreshIfDue();
    },
    stop() {
      clearInterval(timer);
      timer = undefined;
    },
  };
}

/** Reads the keys once. `unused` is sentences about the keys that are not used; `undefined` if all are. */
export async function readProviderKeys(
  uri: string,
  network: Network,
  owner: KeyOwner,
): Promise<Problem | { readonly unused: string | undefined }> {
  const { problem, status, unused } = await readPublishedKeys(uri, network, { ...PUBLISHED, owner });
  return problem === undefined ? { unused } : { problem, status };
}

type Issuers = Omit<ProviderDescription, 'jwksUri'>;

/** The issuers and their keys are replaced together, so that a provider that moves is never half old and half new. */
async function fetchWithIssuer(
  metadata: ProviderMetadata,
  fetch: (uri: string, trace: Trace | undefined) => Promise<Fetch<KeyRing>>,
  trace: Trace | undefined,
): Promise<Fetch<{ readonly issuers: Issuers; readonly ring: KeyRing }>> {
  const provider = await metadata.refresh(trace);
  if (provider === undefined) {
    return { kind: 'failed', retryAfter: metadata.retryAfter(), timedOut: metadata.hasTimedOut() };
  }
  const { jwksUri, ...issuers } = provider;
  const result = await fetch(jwksUri, trace);
  if (result.kind === 'failed') return { ...result, retryAfter: result.retryAfter ?? metadata.retryAfter() };
  // A set without a usable key is surely a mistake of the provider. The last good set is kept, as after a failed fetch.
  if (result.keys.length === 0) return { kind: 'failed' };
  return { kind: 'fetched', keys: { issuers, ring: result.keys } };
}

function isPublished(ring: KeyRing, fingerprint: string): boolean {
  return ring.some((key) => key.fingerprint === fingerprint);
}

export function providerKeysReadiness(keys: Pick<ProviderKeys, 'lastFetchedAt'>, clock: Clock): ReadinessCheck {
  return {
    name: 'identity_provider_keys',
    async check() {
      const fetchedAt = keys.lastFetchedAt();
      if (fetchedAt === undefined) {
        return { status: 'Unhealthy', detail: "The identity provider's keys have not been fetched yet." };
      }
      if (isStale(fetchedAt, clock)) {
        return { status: 'Degraded', detail: "The identity provider's keys were last fetched over 15 minutes ago." };
      }
      return { status: 'Healthy', detail: "The identity provider's keys have been fetched." };
    },
  };
}
