/** The clients at the identity providers with which people and operators sign in, by the settings. */

import type { SignInClient } from '../../adapters/identity-provider/sign-in-client.ts';
import { NAME_CLAIMS } from '../../domain/sessions/shown-name.ts';
import { LONGEST_SIGN_IN_SECONDS } from '../../domain/sessions/sign-in-age.ts';
import { consoleChoice, operatorsChoice } from './alternatives.ts';
import type { Settings } from './settings.ts';

/** The secret is in a file. */
export type ConfiguredClient = Omit<SignInClient, 'clientSecret'>;

/** `undefined` without `Service:Me:ClientId`. */
export function meClient(settings: Settings): ConfiguredClient | undefined {
  const clientId = settings['Service:Me:ClientId'];
  if (clientId === undefined) return undefined;
  const issuer = settings['Service:Issuer'];
  return {
    ...atProvider(settings),
    clientId,
    redirectUri: `${issuer}/me/callback`,
    signedOutUri: `${issuer}/me/signed-out`,
    sponsorKeyClaim: settings['Service:UpstreamIdp:SponsorKeyClaim'],
    longestSignIn: LONGEST_SIGN_IN_SECONDS,
    moreClaims: nameClaims(settings),
  };
}

function nameClaims(settings: Settings): readonly string[] {
  return settings['Service:Me:AskForName'] ? NAME_CLAIMS : [];
}

/**
 * The client with which a person signs in to start a task at `/oauth2/authorize`: the service keeps its access token until the
 * person's token is judged. `undefined` without `Service:Authorize:ClientId`.
 */
export function authorizeClient(settings: Settings): ConfiguredClient | undefined {
  const clientId = settings['Service:Authorize:ClientId'];
  if (clientId === undefined) return undefined;
  const issuer = settings['Service:Issuer'];
  return {
    ...atProvider(settings),
    clientId,
    redirectUri: `${issuer}/oauth2/authorize/callback`,
    signedOutUri: undefined,
    sponsorKeyClaim: settings['Service:UpstreamIdp:SponsorKeyClaim'],
    longestSignIn: LONGEST_SIGN_IN_SECONDS,
    moreClaims: nameClaims(settings),
    providerParameters: settings['Service:Authorize:ProviderParameters'],
    scopePrefix: settings['Service:Authorize:ScopePrefix'],
    keepsAccessToken: true,
  };
}

/** `undefined` without the console. */
export function consoleClient(settings: Settings): ConfiguredClient | undefined {
  const [chosen, operators] = [consoleChoice(settings), operatorsChoice(settings)];
  if (chosen === undefined || operators === undefined) return undefined;
  const { origin, clientId } = chosen;
  return {
    ...atProvider(settings),
    clientId,
    redirectUri: `${origin}/callback`,
    signedOutUri: `${origin}/signed-out`,
    // An operator need not be a person whom agents act for.
    sponsorKeyClaim: 'sub',
    moreClaims: [settings['Service:UpstreamIdp:SponsorKeyClaim'], ...operators.roleClaim.split('.', 1)],
  };
}

function atProvider(settings: Settings): Pick<SignInClient, 'assertionAudience' | 'pushedAuthorization'> {
  return {
    assertionAudience: settings['Service:UpstreamIdp:ClientAssertionAudience'],
    pushedAuthorization: settings['Service:UpstreamIdp:PushedAuthorization'],
  };
}
