/**
 * Examines what the sign-in at the page `/me`, at `/oauth2/authorize`, or at the console needs from the identity provider,
 * tries whether the provider accepts the client, and says what to register there.
 */

import { type Instant, plusSeconds } from '../../domain/instant.ts';
import {
  PUSHED_REQUEST_ENDPOINT,
  type PushedAuthorization,
  type UnmetDemand,
  unmetDemands,
} from '../../domain/sessions/provider-demands.ts';
import { isTextList, type JsonObject, member, textMember } from '../../domain/tokens/strict-json.ts';
import type { ClientTrial } from '../ports/identity-provider.ts';
import type { Clock } from '../ports/runtime.ts';
import type { SignInsQuestion, SignInsSeen } from '../ports/storage.ts';
import { A_DAY, ago, type Examination, type Finding, failed, ok, skipped, warning } from './examine.ts';
import { describeProblem } from './problem.ts';
import type { SignerMetadata } from './provider.ts';

export interface PageClient {
  readonly check: keyof typeof PLACES;
  /** `Service:Issuer`. */
  readonly issuer: string;
  readonly clientId: string;
  /** Where the provider sends browsers back. */
  readonly returnAddress: string;
  /** Where the provider sends browsers after a sign-out there. `undefined` for a client without a sign-out. */
  readonly signedOutAddress: string | undefined;
  /** The `aud` that its access tokens need. `undefined` if the service uses none of them. */
  readonly accessTokenAudience?: string;
  readonly hasSecret: boolean;
  /** `Service:UpstreamIdp:ClientAssertionAudience`. */
  readonly assertionAudience: 'issuer' | 'token_endpoint';
  /** `Service:UpstreamIdp:PushedAuthorization`. */
  readonly pushedAuthorization: PushedAuthorization;
  /** The claims that the service reads from its ID tokens, besides those of every ID token. */
  readonly claims: readonly string[];
  /** Why the file of the client's secret, or of the scopes' descriptions, cannot be used; `undefined` if both can. */
  readonly fileProblem: () => Promise<string | undefined>;
  readonly metadata: () => Promise<SignerMetadata>;
  /** The endpoints of a sign-in that the metadata lacks, or names in a form that is not used. */
  readonly unusableEndpoints: (document: JsonObject) => readonly string[];
  /**
   * Tries the client at its endpoints, once for both checks. Resolves with `no_key` if there is no signing key to
   * authenticate with.
   */
  readonly tryClient: (document: JsonObject) => Promise<ClientTrial | 'no_key'>;
  /** Whether `Service:Issuer` answers with the signing keys of these settings, which the provider reads there. */
  readonly publishesKeys: () => Promise<boolean>;
  /** What sign-ins at the page have shown. Resolves with `undefined` if the database cannot say. */
  readonly signIns: (question: Pick<SignInsQuestion, 'issuer' | 'since'>) => Promise<SignInsSeen | undefined>;
  readonly clock: Clock;
}

export function signInExaminations(client: PageClient): readonly Examination[] {
  return [
    { check: `${client.check} provider`, examine: async () => judgeProvider(client, await client.metadata()) },
    { check: `${client.check} client`, examine: async () => examineClient(client) },
  ];
}

/** Who signs in where, for sentences, and the settings of the client. */
const PLACES = {
  'sign-in': { who: 'People', where: '/me', settings: 'Service:Me' },
  authorize: { who: 'People', where: '/oauth2/authorize', settings: 'Service:Authorize' },
  console: { who: 'Operators', where: 'the console', settings: 'Service:Operators' },
} as const;

async function judgeProvider(client: PageClient, metadata: SignerMetadata): Promise<Finding> {
  const { check, hasSecret, unusableEndpoints, pushedAuthorization } = client;
  const { who, where, settings } = PLACES[check];
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
      `See what its metadata names there: an absolute https URL, or http if the metadata is read over http.${
        pushedAuthorization === 'always' && unusable.includes(PUSHED_REQUEST_ENDPOINT)
          ? ' Without one, set Service:UpstreamIdp:PushedAuthorization to auto.'
          : ''
      }`,
    );
  }
  const { insisted, doubtful } = await demandsOf(client, document);
  if (insisted.length > 0) {
    return failed(
      `${who} cannot sign in at ${where}: the provider's metadata demands ${inWords(insisted)}. This service does not do that.`,
      remedyOf(insisted),
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
    const remedy = `Turn it on at the provider${hasSecret ? '' : `, or give ${settings}:ClientSecret:Path`}.`;
    return warning(
      `The provider's metadata does not list ${missing.join(', ')}, which the sign-in at ${where} uses.`,
      `Some providers accept more than they list: see \`${check} client\`, and sign in once. If that fails: ${remedy}`,
    );
  }
  if (doubtful.length > 0) {
    return warning(
      `The provider's metadata demands ${inWords(doubtful)}, but the provider accepted a request without that.`,
      'Sign in once. If that fails, turn it off for this client at the provider.',
    );
  }
  const leaves = check === 'authorize' ? 'ends no tasks' : 'does not close sessions';
  const logout = [
    ...(member(document, 'backchannel_logout_supported') === true
      ? []
      : [`It announces no back-channel logout: if it has none, a sign-out there ${leaves} here.`]),
    ...(client.signedOutAddress !== undefined && textMember(document, 'end_session_endpoint') === undefined
      ? ['It has no end_session_endpoint: a sign-out here cannot end its own session, and is not offered everywhere.']
      : []),
  ];
  return ok([`By its metadata the provider offers what the sign-in at ${where} needs.`, ...logout].join(' '));
}

/** Demands of the metadata that this service does not meet: those that the trial does not refute, and the others. */
async function demandsOf(client: PageClient, document: JsonObject) {
  const unmet = unmetDemands(document, client.pushedAuthorization);
  const canTry = unmet.some(({ refutedBy }) => refutedBy !== undefined) && (await client.fileProblem()) === undefined;
  const trial = canTry ? await client.tryClient(document) : undefined;
  const isRefuted = ({ refutedBy }: UnmetDemand) =>
    typeof trial === 'object' &&
    trial.kind === 'accepted' &&
    (refutedBy === 'client' || (refutedBy === 'pushed_request' && trial.pushed));
  return { insisted: unmet.filter((demand) => !isRefuted(demand)), doubtful: unmet.filter(isRefuted) };
}

function inWords(demands: readonly UnmetDemand[]): string {
  return demands.map((demand) => `${demand.words} (${demand.member})`).join(', and ');
}

function remedyOf(demands: readonly UnmetDemand[]): string {
  const [pushed, others] = [demands.filter(isAboutPushing), demands.filter((demand) => !isAboutPushing(demand))];
  return [
    ...(pushed.length > 0 ? ['Set Service:UpstreamIdp:PushedAuthorization to auto.'] : []),
    ...(others.length > 0 ? ['Turn that off at the provider, or use another one for these sign-ins.'] : []),
  ].join(' ');
}

const isAboutPushing = (demand: UnmetDemand) => demand.member === 'require_pushed_authorization_requests';

async function examineClient(client: PageClient): Promise<Finding> {
  const problem = await client.fileProblem();
  if (problem !== undefined) return failed(problem, 'Correct the path, or the file.');
  const metadata = await client.metadata();
  if ('problem' in metadata) return skipped(`The provider's metadata could not be read. ${registrationOf(client)}`);
  const { document, description } = metadata;
  if (client.unusableEndpoints(document).length > 0) return skipped("The provider's metadata has no usable endpoints.");
  const trial = await client.tryClient(document);
  if (trial === 'no_key') return skipped(`There is no signing key to try the client with. ${registrationOf(client)}`);
  const since = plusSeconds(client.clock.now(), -A_DAY);
  const seen = await client.signIns({ issuer: description.issuer, since });
  const finding = await judgeTrial(client, trial, seen?.lastAt);
  if (finding.status === 'failed') return finding;
  return judgeDemanded(client, seen) ?? judgeTokens(client, seen) ?? withTokens(client, finding, seen);
}

const NO_DPOP =
  'Turn DPoP-bound access tokens off for this client at the provider: this service sends no proofs of a key.';

/** `undefined` unless the access token of the newest sign-in was refused. A trial gets no access token. */
function judgeTokens({ clientId, accessTokenAudience, clock }: PageClient, seen: SignInsSeen | undefined) {
  const refused = seen?.tokenRefused;
  if (accessTokenAudience === undefined || refused === undefined) return undefined;
  if (seen?.lastAt !== undefined && seen.lastAt > refused.at) return undefined;
  return warning(
    `The access token of the last sign-in with the client ${clientId}, ${ago(refused.at, clock.now())}, was refused: ${refused.reason}. No person can start a task with such a token.`,
    `At the provider the access tokens of this client must be JWTs with the aud ${accessTokenAudience}. Some providers need Service:Authorize:ProviderParameters:audience or :resource, or Service:Authorize:ScopePrefix for that. Then sign in once.`,
  );
}

/** Says what the trial cannot show. */
function withTokens(
  { accessTokenAudience, clock }: PageClient,
  finding: Finding,
  seen: SignInsSeen | undefined,
): Finding {
  if (accessTokenAudience === undefined || finding.status === 'skipped') return finding;
  const known =
    seen?.lastAt === undefined
      ? 'No trial shows that: start a task once.'
      : `That of the last person who started a task was accepted ${ago(seen.lastAt, clock.now())}.`;
  return {
    ...finding,
    sentence: `${finding.sentence} Its access tokens must be JWTs with the aud ${accessTokenAudience} and the scopes of the person. ${known}`,
  };
}

/** `undefined` unless the newest sign-in met a demand that no metadata has. */
function judgeDemanded({ clientId, clock }: PageClient, seen: SignInsSeen | undefined): Finding | undefined {
  const at = seen?.dpopDemandedAt;
  if (at === undefined || (seen?.lastAt !== undefined && seen.lastAt > at)) return undefined;
  return warning(
    `The provider demanded a proof of a key (DPoP) at the last sign-in with the client ${clientId}, ${ago(at, clock.now())}: sign_in_dpop_demanded. This service sends none.`,
    `${NO_DPOP} Then sign in once.`,
  );
}

/** @param lastAt when a person last signed in at the page */
async function judgeTrial(client: PageClient, trial: ClientTrial, lastAt: Instant | undefined): Promise<Finding> {
  const { check, clientId, issuer, hasSecret, clock } = client;
  switch (trial.kind) {
    case 'accepted':
      return ok(
        `The provider accepts the client ${clientId}${trial.pushed ? ', and its pushed request' : ''}. Not tried is the rest: ${registrationOf(client)}`,
      );
    case 'code_first':
      if (lastAt !== undefined) {
        return ok(
          `The provider accepts the client ${clientId}: the last known sign-in was ${ago(lastAt, clock.now())}. A trial cannot show it here. ${registrationOf(client)}`,
        );
      }
      return warning(
        `Whether the provider accepts the client ${clientId} is not known: it refuses an unknown code before it looks at the client.`,
        `Sign in once. ${registrationOf(client)}`,
      );
    case 'unclear':
      return lastAt === undefined
        ? warning(
            `Whether the provider accepts the client ${clientId} is not known. ${trial.problem}`,
            `Run this again, and sign in once. ${registrationOf(client)}`,
          )
        : warning(
            `Whether the provider still accepts the client ${clientId} is not known: the last known sign-in was ${ago(lastAt, clock.now())}. ${trial.problem}`,
            `Run this again. ${registrationOf(client)}`,
          );
    case 'request_refused':
      return failed(
        `The provider refuses the pushed request of the client ${clientId}, so no person can sign in. ${trial.problem}`,
        `Compare the client at the provider: its return address, its scopes, its response type, and that it need not sign its requests (signed request object). ${registrationOf(client)}`,
      );
    case 'dpop_demanded':
      return failed(
        `The provider demands a proof of a key (DPoP) of the client ${clientId}, and this service sends none, so no person can sign in.`,
        NO_DPOP,
      );
    case 'no_endpoint': {
      const { sentence, remedy } = describeProblem(trial);
      return failed(
        `The ${trial.endpoint} of the provider's metadata does not answer as one. ${sentence}`,
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
        `The provider refuses the client ${clientId}, so no person can sign in. ${trial.problem}`,
        [
          registrationOf(client),
          hasSecret
            ? `See that ${PLACES[check].settings}:ClientSecret:Path holds its secret.`
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
  const signedOut = signedOutAddress === undefined ? '' : `the address after a sign-out ${signedOutAddress}, `;
  return [
    `At the provider the client ${clientId} needs the return address ${returnAddress}, ${signedOut}${keys}, and for sign-outs the back-channel logout address ${issuer}/backchannel-logout.`,
    ...(claims.length === 0 ? [] : [`Its ID tokens need these claims: ${claims.join(', ')}.`]),
  ].join(' ');
}
