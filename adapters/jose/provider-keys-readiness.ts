/** The readiness check of the identity provider's keys (specification "Public", `/readyz`). */

import type { ProviderKeys } from '../../application/ports/keys.ts';
import type { Clock, ReadinessCheck } from '../../application/ports/runtime.ts';
import { secondsBetween } from '../../domain/instant.ts';

/** Specification "Limits": key fetch staleness. */
const STALE_SECONDS = 15 * 60;

export function providerKeysReadiness(keys: Pick<ProviderKeys, 'lastFetchedAt'>, clock: Clock): ReadinessCheck {
  return {
    name: 'identity_provider_keys',
    async check() {
      const fetchedAt = keys.lastFetchedAt();
      if (fetchedAt === undefined) {
        return { status: 'Unhealthy', detail: "The identity provider's keys have not been fetched yet." };
      }
      if (secondsBetween(fetchedAt, clock.now()) > STALE_SECONDS) {
        return { status: 'Degraded', detail: "The identity provider's keys were last fetched over 15 minutes ago." };
      }
      return { status: 'Healthy', detail: "The identity provider's keys have been fetched." };
    },
  };
}
