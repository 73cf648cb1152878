/** Whether a configuration learns that a person was disabled. */

import type { Settings } from '../../composition/settings/settings.ts';

/** In mode `signals` only SCIM and Shared Signals report a disabled person; a logout is not a block. */
export function endsPeople(settings: Settings): boolean {
  if (settings['Service:UpstreamIdp:SponsorCheck:Mode'] === 'poll') return true;
  return settings['Service:Scim:BearerToken'] !== undefined || settings['Service:Ssf:Issuer'] !== undefined;
}
