/**
 * Examines what the sign-in at the page `/me`, or at the console, needs from the identity provider, tries whether the
 * provider accepts the client, and says what to register there.
 */

import { isTextList, type JsonObject, member, textMember } from '../../domain/tokens/strict-json.ts';
import type { ClientTrial } from '../ports/identity-provider.ts';
import { type Examination, type Finding, failed, ok, skipped, warning } from './examine.ts';
import { describeProblem } from './problem.ts';
import type { SignerMetadata } from './provider.ts';

export interface PageClient {
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
  readonly metadata: () => Promise<SignerMetadata>;
  /** The endpoints of a sign-in that the metadata lacks, or names in a form that is not used. */
  readonly unusableEndpoints: (document: JsonObject) => readonly string[];
  /** Tries the client at the token endpoint. Resolves with `no_key` if there is no signing key to authenticate with. */
  readonly tryClient: (document: JsonObject) => Promise<ClientTrial | 'no_key'>;
  /** Whether `Service:Issuer` answers with the signing keys of these settings, which the provider reads there. */
  readonly publishesKeys: () => Promise<boolean>;
}

export function signInExaminations(client: PageClient): readonly Examination[] {
  return [
    { check: `${client.check} provider`, examine: async () => judgeProvider(client, await client.metadata()) },
    { check: `${client.check} client`, examine: async () => examineClient(client) },
  ];
}

function judgeProvider({ check, hasSecret, unusableEndpoints }: PageClient, metadata: SignerMetadata): Finding {
  const [who, where] = check === 'console' ? ['Operators', 'the console'] : ['People', '/me'];
  if ('problem' in metadata) return skipped('Its metadata could not be read.');
  const { document } = metadata;
  /** Whether the list is absent, or names one of these values. */
  const offers = (list: string, ...values: readonly string[]) => {
    const found = member(document, list);
    return !isTextList(found) || values.some((value) => found.includes(value));
  };
  const methods = hasSecret ? ['client_secret_basic', 'client_secret_post'] : ['private_key_jwt'];
  const unusable = unusableEndpoints(document);
  if (unusable.length > 0) {
    return failed(
      `${who} cannot sign in at ${where}. The provider's metadata has no usable ${unusable.join(', ')}.`,
      'See what its metadata names there: an absolute https URL, or http if the metadata is read over http.',
    );
  }
  const missing = [
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
    return warning(
      `The provider's metadata does not list ${missing.join(', ')}, which the sign-in at ${where} uses.`,
      `Some providers accept more than they list: see \`${check} client\`, and sign in once. If that fails: ${remedy}`,
    );
  }
  const logout = [
    ...(member(document, 'backchannel_logout_supported') === true
      ? []
      : ['It announces no back-channel logout: if it has none, a sign-out there does not close sessions here.']),
    ...(textMember(document, 'end_session_endpoint') === undefined
      ? ['It has no end_session_endpoint: a sign-out here cannot end its own session, and is not offered everywhere.']
      : []),
  ];
  return ok([`By its metadata the provider offers what the sign-in at ${where} needs.`, ...logout].join(' '));
}

async function examineClient(client: PageClient): Promise<Finding> {
  const problem = await client.fileProblem();
  if (problem !== undefined) return failed(problem, 'Correct the path, or the file.');
  const metadata = await client.metadata();
  if ('problem' in metadata) return skipped(`The provider's metadata could not be read. ${registrationOf(client)}`);
  const { document } = metadata;
  if (client.unusableEndpoints(document).length > 0) return skipped("The provider's metadata has no usable endpoints.");
  const trial = await client.tryClient(document);
  if (trial === 'no_key') return skipped(`There is no signing key to try the client with. ${registrationOf(client)}`);
  return judgeTrial(client, trial);
}

async function judgeTrial(client: PageClient, trial: ClientTrial): Promise<Finding> {
  const { check, clientId, issuer, hasSecret } = client;
  switch (trial.kind) {
    case 'accepted':
      return ok(`The provider accepts the client ${clientId}. Not tried is the rest: ${registrationOf(client)}`);
    case 'code_first':
      return warning(
        `Whether the provider accepts the client ${clientId} is not known: it refuses an unknown code before it looks at the client.`,
        `Sign in once. ${registrationOf(client)}`,
      );
    case 'unclear':
      return warning(
        `Whether the provider accepts the client ${clientId} is not known. ${trial.problem}`,
        `Run this again, and sign in once. ${registrationOf(client)}`,
      );
    case 'no_token_endpoint': {
      const { sentence, remedy } = describeProblem(trial);
      return failed(
        `The token_endpoint of the provider's metadata does not answer as one. ${sentence}`,
        remedy ?? 'See where that address leads from here.',
      );
    }
    case 'refused':
      if (!hasSecret && !(await client.publishesKeys())) {
        return warning(
          `The provider refuses the client ${clientId}, and Service:Issuer does not answer with the keys by which it knows the client. ${trial.problem}`,
          `Start the service, see that the provider reaches ${issuer}/.well-known/jwks.json, and run this again.`,
        );
      }
      return failed(
        `The provider refuses the client ${clientId}, so nobody can sign in. ${trial.problem}`,
        [
          registrationOf(client),
          hasSecret
            ? `See that Service:${check === 'console' ? 'Operators' : 'Me'}:ClientSecret:Path holds its secret.`
            : 'See that the provider reads that key set now. If it accepts only its token endpoint as aud, set Service:UpstreamIdp:ClientAssertionAudience to token_endpoint.',
        ].join(' '),
      );
  }
}

/** The registration that the client needs at the provider. */
function registrationOf(client: PageClient): string {
  const { issuer, clientId, returnAddress, signedOutAddress, hasSecret, assertionAudience, claims } = client;
  const method =
    assertionAudience === 'issuer' ? 'private_key_jwt, ES256' : 'private_key_jwt, ES256, aud token endpoint';
  const keys = hasSecret ? 'its secret' : `its key set ${issuer}/.well-known/jwks.json (${method})`;
  return [
    `At the provider the client ${clientId} needs the return address ${returnAddress}, the address after a sign-out ${signedOutAddress}, ${keys}, and for sign-outs the back-channel logout address ${issuer}/backchannel-logout.`,
    ...(claims.length === 0 ? [] : [`Its ID tokens need these claims: ${claims.join(', ')}.`]),
  ].join(' ');
}
