/** Hashes the secrets of sessions, for the page `/me` and the console. */

import { sha256 } from '../adapters/platform/system-crypto.ts';
import type { Digest } from '../application/ports/runtime.ts';
import type { RoleValues } from '../domain/operators/operator.ts';
import type { Settings } from './settings/settings.ts';

/** Who a provider's `sub` and sponsor key name depends on these settings. */
type Naming = Pick<
  Settings,
  'Service:UpstreamIdp:Issuer' | 'Service:UpstreamIdp:MetadataUrl' | 'Service:UpstreamIdp:SponsorKeyClaim'
>;

/**
 * Hashes a secret together with the settings that made the session. So after a change of these no stored session is found:
 * it could name another person, or have other roles.
 *
 * @param own further settings of the surface
 */
export function sessionDigest(settings: Naming, own: readonly (string | RoleValues | undefined)[]): Digest {
  const naming = [
    settings['Service:UpstreamIdp:Issuer'],
    settings['Service:UpstreamIdp:MetadataUrl'],
    settings['Service:UpstreamIdp:SponsorKeyClaim'],
  ];
  const given = JSON.stringify([...own, ...naming]);
  return (secret) => sha256(`${secret} ${given}`);
}
