/** The settings of the door for people, `/oauth2/authorize`. */

import { AUTHORIZE_CLIENT_ID, PAGE_CLIENT_ID } from '../identity-provider/provider-configuration.ts';

/**
 * For a provider that was started with the option `page`. Without `resource` the test provider issues an access token for
 * its own userinfo endpoint, which is opaque.
 */
export function authorizeSettings(
  { audience }: { readonly audience: string },
  clientId: string = AUTHORIZE_CLIENT_ID,
): Readonly<Record<string, string>> {
  return {
    'Service:Me:ClientId': PAGE_CLIENT_ID,
    'Service:Authorize:ClientId': clientId,
    'Service:Authorize:ProviderParameters:resource': audience,
  };
}

/** For services whose provider is never asked: every path of the door is there, and programs find their agent. */
export const EVERY_CLIENT = {
  'Service:Me:ClientId': PAGE_CLIENT_ID,
  'Service:Authorize:ClientId': AUTHORIZE_CLIENT_ID,
  'Service:Authorize:PublicClients': 'true',
  'Service:Authorize:Registration': 'known',
};
