/** Whether a service with these settings notices that the identity provider disabled a person. */

import type { Settings } from '../../composition/settings/settings.ts';

/** In mode `signals` only SCIM and Shared Signals report a disabled person. A logout is not a block. */
export function endsPeople(settings: Settings): boolean {
  if (settings['Service:UpstreamIdp:SponsorCheck:Mode'] === 'poll') return true;
  return settings['Service:Scim:BearerToken'] !== undefined || settings['Service:Ssf:Issuer'] !== undefined;
}
