/**
 * The clients of identity providers that authenticate with the signing key (`private_key_jwt`). Before another key signs, their
 * providers must have read it.
 */

import type { GivenSettings } from '../../settings/given-settings.ts';

export interface SigningClient {
  readonly setting: string;
  readonly clientId: string;
  /** What fails until its provider has read the key: a clause. */
  readonly fails: string;
}

/** Each setting of a client, and the one that names another way to authenticate. */
const CLIENTS = {
  'Service:UpstreamIdp:SponsorCheck:ClientId': {
    instead: 'Service:UpstreamIdp:SponsorCheck:BearerToken',
    fails: 'the provider answers for no person, so exchanges are refused',
  },
  'Service:Me:ClientId': { instead: 'Service:Me:ClientSecret:Path', fails: 'no person signs in at /me' },
  'Service:Authorize:ClientId': {
    instead: 'Service:Authorize:ClientSecret:Path',
    fails: 'no person starts a task at /oauth2/authorize',
  },
  'Service:Operators:ClientId': {
    instead: 'Service:Operators:ClientSecret:Path',
    fails: 'no operator signs in at the console',
  },
} as const;

/** The settings of all clients, for the test that compares them with the catalogue. */
export const clientSettings: readonly string[] = Object.keys(CLIENTS);

export function signingClients({ text }: Pick<GivenSettings, 'text'>): readonly SigningClient[] {
  return Object.entries(CLIENTS).flatMap(([setting, { instead, fails }]) => {
    const clientId = text(setting);
    return clientId === undefined || text(instead) !== undefined ? [] : [{ setting, clientId, fails }];
  });
}

/** What must hold before the next key signs: a sentence for each client. */
export function providersHaveRead(clients: readonly SigningClient[]): readonly string[] {
  if (clients.length === 0) {
    return [
      `a provider that verifies the authentication of this service (private_key_jwt) must have read the new key set too. These settings have no such client (${clientSettings.join(', ')}).`,
    ];
  }
  return clients.map(
    ({ setting, clientId, fails }) =>
      `the identity provider must have read the new key set too, for the client ${clientId} (${setting}): until then ${fails}.`,
  );
}
