/**
 * Examines what the sign-in at the page `/me`, or at the console, needs from the identity provider, and says what to
 * register there.
 */

import { isTextList, textClaim } from '../../domain/tokens/compact-jws.ts';
import { type JsonObject, member } from '../../domain/tokens/strict-json.ts';
import { type Examination, type Finding, failed, ok, skipped } from './examine.ts';

interface PageClient {
  /** `sign-in` at the page `/me`, or `console`. */
  readonly check: 'sign-in' | 'console';
  /** `Service:Issuer`. */
  readonly issuer: string;
  /** `Service:Me:ClientId`, or `Service:Operators:ClientId`. */
  readonly clientId: string;
  /** Where the provider sends browsers back. */
  readonly returnAddress: string;
  /** Where the provider sends browsers after a sign-out there. */
  readonly signedOutAddress: string;
  readonly hasSecret: boolean;
  /** `Service:UpstreamIdp:ClientAssertionAudience`. */
  readonly assertionAudience: 'issuer' | 'token_endpoint';
  /** The claims that the service reads from its ID tokens, besides those of every ID token. */
  readonly claims: readonly string[];
  /** Why the file of the client's secret, or of the scopes' descriptions, cannot be used; `undefined` if both can. */
  readonly fileProblem: () => Promise<string | undefined>;
  /** The provider's metadata; `undefined` if it could not be read. */
  readonly document: () => Promise<JsonObject | undefined>;
}

export function signInExaminations(client: PageClient): readonly Examination[] {
  return [
    { check: `${client.check} provider`, examine: async () => judgeProvider(client, await client.document()) },
    { check: `${client.check} client`, examine: async () => describeClient(client, await client.fileProblem()) },
  ];
}

function judgeProvider({ check, hasSecret }: PageClient, document: JsonObject | undefined): Finding {
  const [who, where] = check === 'console' ? ['Operators', 'the console'] : ['People', '/me'];
  if (document === undefined) return skipped('Its metadata could not be read.');
  /** Whether the list is absent, or names one of these values. */
  const offers = (list: string, ...values: readonly string[]) => {
    const found = member(document, list);
    return !isTextList(found) || values.some((value) => found.includes(value));
  };
  const methods = hasSecret ? ['client_secret_basic', 'client_secret_post'] : ['private_key_jwt'];
  const missing = [
    ...['authorization_endpoint', 'token_endpoint'].filter((name) => textClaim(document, name) === undefined),
    ...(offers('response_types_supported', 'code') ? [] : ['the response type code']),
    ...(offers('code_challenge_methods_supported', 'S256') ? [] : ['the code challenge method S256']),
    ...(offers('token_endpoint_auth_methods_supported', ...methods) ? [] : [methods.join(' or ')]),
    ...(hasSecret || offers('token_endpoint_auth_signing_alg_values_supported', 'ES256')
      ? []
      : ['client assertions signed with ES256']),
  ];
  if (missing.length > 0) {
    const secret = `Service:${check === 'console' ? 'Operators' : 'Me'}:ClientSecret:Path`;
    const remedy = hasSecret ? 'Turn it on at the provider.' : `Turn it on at the provider, or give ${secret}.`;
    return failed(
      `${who} cannot sign in at ${where}. By its metadata the provider lacks ${missing.join(', ')}.`,
      remedy,
    );
  }
  const logout = [
    ...(member(document, 'backchannel_logout_supported') === true
      ? []
      : ['It announces no back-channel logout: a sign-out there does not close sessions here.']),
    ...(textClaim(document, 'end_session_endpoint') === undefined
      ? ['It has no end_session_endpoint: a sign-out here cannot end its own session, and is not offered everywhere.']
      : []),
  ];
  return ok([`By its metadata the provider offers what the sign-in at ${where} needs.`, ...logout].join(' '));
}

function describeClient(
  { issuer, clientId, returnAddress, signedOutAddress, hasSecret, assertionAudience, claims }: PageClient,
  problem: string | undefined,
): Finding {
  if (problem !== undefined) return failed(problem, 'Correct the path, or the file.');
  const method =
    assertionAudience === 'issuer' ? 'private_key_jwt, ES256' : 'private_key_jwt, ES256, aud token endpoint';
  const keys = hasSecret ? 'its secret' : `its key set ${issuer}/.well-known/jwks.json (${method})`;
  return ok(
    [
      `At the provider the client ${clientId} needs the return address ${returnAddress}, the address after a sign-out ${signedOutAddress}, ${keys}, and for sign-outs the back-channel logout address ${issuer}/backchannel-logout.`,
      ...(claims.length === 0 ? [] : [`Its ID tokens need these claims: ${claims.join(', ')}.`]),
    ].join(' '),
  );
}
