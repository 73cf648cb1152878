/**
 * The request of a sign-in, and where the browser takes it (OpenID Connect Core 1.0 §3.1.2.1). Some providers demand that
 * this service pushes the request to them first: then the browser carries only a reference to it (RFC 9126).
 */

import {
  buildAuthorizationUrl,
  buildAuthorizationUrlWithPAR,
  type Configuration,
  calculatePKCECodeChallenge,
  customFetch,
} from 'openid-client';
import type { SignInAttempt } from '../../application/ports/identity-provider.ts';
import { formatScope, type Scope } from '../../domain/scope.ts';
import { pushesRequest } from '../../domain/sessions/provider-demands.ts';
import { isTextList, type JsonObject, member } from '../../domain/tokens/strict-json.ts';
import type { SignInClient } from './sign-in-client.ts';
import type { LibraryRequest } from './through-network.ts';

/** Browsers and proxies take some kilobytes. RFC 9101 §5.2 has request_uri end at 512 characters. */
const LONGEST_ADDRESS = 4096;

/** The answer to a pushed request has a `request_uri` that no browser could carry. */
export class LongAddress extends Error {}

/**
 * The address to which the browser is sent.
 *
 * @param pushed sends the request, if it is pushed
 * @throws LongAddress, and the library's errors of a pushed request
 */
export async function authorizationAddress(
  client: SignInClient,
  { configuration, document }: { readonly configuration: Configuration; readonly document: JsonObject },
  attempt: SignInAttempt,
  pushed: LibraryRequest,
): Promise<string> {
  const parameters = await parametersOf(client, document, attempt);
  if (!pushesRequest(document, client.pushedAuthorization))
    return buildAuthorizationUrl(configuration, parameters).href;
  configuration[customFetch] = pushed.fetch;
  const { href } = await buildAuthorizationUrlWithPAR(configuration, parameters);
  if (href.length > LONGEST_ADDRESS) throw new LongAddress();
  return href;
}

async function parametersOf(
  client: SignInClient,
  document: JsonObject,
  { state, nonce, codeVerifier, maxAge, asksWho = false, scopes = [], prompt }: SignInAttempt,
): Promise<Record<string, string>> {
  const askedAge = maxAge ?? client.longestSignIn;
  return {
    // First: none of these may replace another parameter.
    ...client.providerParameters,
    redirect_uri: client.redirectUri,
    scope: scopeFor(client, document, scopes),
    state,
    nonce,
    code_challenge: await calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: 'S256',
    ...(askedAge === undefined ? {} : { max_age: String(askedAge) }),
    ...(prompt && { prompt }),
    ...(asksWho && { prompt: promptForAnother(document) }),
  };
}

/**
 * `login` is known to every provider (OpenID Connect Core 1.0 §15.1). `select_account` is friendlier, and may be refused unless
 * the metadata lists it (Initiating User Registration via OpenID Connect 1.0 §4.1).
 */
function promptForAnother(document: JsonObject): string {
  const offered = member(document, 'prompt_values_supported');
  return isTextList(offered) && offered.includes('select_account') ? 'select_account' : 'login';
}

/**
 * The claims of a person other than `sub` may need a scope (OpenID Connect Core 1.0 §5.4). A provider lists these scopes if
 * it has them (Discovery 1.0 §3), and may refuse one that it does not list.
 */
function scopeFor(
  { sponsorKeyClaim, moreClaims = [], scopePrefix = '' }: SignInClient,
  document: JsonObject,
  scopes: Scope,
): string {
  const isPlain = [sponsorKeyClaim, ...moreClaims].every((claim) => claim === 'sub');
  const offered = member(document, 'scopes_supported');
  const ofPerson = isPlain
    ? []
    : ['profile', 'email'].filter((scope) => !isTextList(offered) || offered.includes(scope));
  const more = moreClaims.filter((claim) => isTextList(offered) && offered.includes(claim));
  const ofApi = scopes.map((scope) => `${scopePrefix}${scope}`);
  return formatScope([...new Set(['openid', ...ofPerson, ...more, ...ofApi])]);
}
