/**
 * The sign-in of people at the page `/me`, and of operators at the console: authorization code with PKCE (OpenID Connect Core 1.0 §3.1, RFC 7636).
 * `openid-client` builds and checks the messages.
 */

import {
  AuthorizationResponseError,
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  buildEndSessionUrl,
  type ClientAuth,
  ClientSecretPost,
  Configuration,
  type CustomFetch,
  calculatePKCECodeChallenge,
  customFetch,
  ResponseBodyError,
  type ServerMetadata,
} from 'openid-client';
import type {
  ProviderMetadata,
  SignIn,
  SignInAttempt,
  SignInDenial,
  SignInOutcome,
} from '../../application/ports/identity-provider.ts';
import type { ProviderKeys } from '../../application/ports/keys.ts';
import { isDocument, type Network, NetworkFailure } from '../../application/ports/network.ts';
import type { Clock } from '../../application/ports/runtime.ts';
import { type Log, traceFields } from '../../application/ports/telemetry.ts';
import { Secret } from '../../domain/secret.ts';
import { isSignInRecent, usableSignInTime } from '../../domain/sessions/sign-in-age.ts';
import { judgeSubjectToken } from '../../domain/sponsors/subject-token.ts';
import { readProviderJws } from '../../domain/tokens/compact-jws.ts';
import {
  isJsonObject,
  isTextList,
  type JsonObject,
  member,
  parseStrictJson,
  textMember,
} from '../../domain/tokens/strict-json.ts';
import type { Trace } from '../../domain/trace-context.ts';
import { acceptsPlain, isEndpoint, unusableEndpoints } from './endpoints.ts';
import { repeatsAny } from './error-code.ts';
import { sendAgainIfCut } from './send-again-if-cut.ts';
import type { AssertionAudience } from './service-token.ts';
import { CODE_ERRORS, secretsIn, TOKEN_REQUEST } from './token-endpoint.ts';

export interface SignInClient {
  readonly clientId: string;
  /** `undefined` for `private_key_jwt`. */
  readonly clientSecret: Secret | undefined;
  readonly assertionAudience: AssertionAudience;
  readonly redirectUri: string;
  /** Where the provider sends the browser back after a sign-out. */
  readonly signedOutUri: string;
  /** `Service:UpstreamIdp:SponsorKeyClaim`. */
  readonly sponsorKeyClaim: string;
  /** More claims that the ID token should have. The scope of a claim's name is asked for, if the provider has one. */
  readonly moreClaims?: readonly string[];
  /**
   * Seconds: the `max_age` of a sign-in without a maximum age. Without the parameter a provider may leave out `auth_time`
   * (OpenID Connect Core 1.0 §3.1.2.1). `undefined` if nothing depends on that.
   */
  readonly longestSignIn?: number;
}

interface SignInParts {
  readonly metadata: Pick<ProviderMetadata, 'document' | 'cachedDocument' | 'isPlain'>;
  readonly providerKeys: Pick<ProviderKeys, 'verify'>;
  readonly network: Network;
  readonly clock: Clock;
  readonly log: Log;
  readonly assertion: (clientId: string, audience: string) => Promise<string>;
}

export function signIn(client: SignInClient, parts: SignInParts): SignIn {
  const { metadata, log } = parts;
  const issuerOf = (document: JsonObject) => textMember(document, 'issuer') ?? '';
  const maybePlain = (document: JsonObject) => acceptsPlain(document, metadata.isPlain);

  /** `undefined` if the metadata is unavailable, or does not say where people sign in. */
  async function configured(trace: Trace | undefined) {
    const document = await metadata.document(trace);
    if (document === undefined) return undefined;
    const issuer = issuerOf(document);
    const [missing] = unusableEndpoints(document, metadata.isPlain);
    if (missing !== undefined) {
      log.warn("The sign-in is unavailable: the identity provider's metadata lacks an endpoint.", { missing });
      return undefined;
    }
    const server = { ...document, issuer } as ServerMetadata;
    const auth = clientAuthentication(client, document, parts.assertion);
    const configuration = new Configuration(server, client.clientId, {}, auth);
    // Only a test's or a developer's provider has no TLS.
    if (maybePlain(document)) allowInsecureRequests(configuration);
    return { configuration, issuer, document };
  }

  return {
    async begin({ state, nonce, codeVerifier, maxAge }, trace) {
      const provider = await configured(trace);
      if (provider === undefined) return undefined;
      const { configuration, document } = provider;
      const askedAge = maxAge ?? client.longestSignIn;
      return buildAuthorizationUrl(configuration, {
        redirect_uri: client.redirectUri,
        scope: scopeFor(client, document),
        state,
        nonce,
        code_challenge: await calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
        ...(askedAge === undefined ? {} : { max_age: String(askedAge) }),
      }).href;
    },

    async finish(attempt, query, trace) {
      const refused = (reason: SignInDenial, why: Why): SignInOutcome => {
        log.warn('A sign-in was refused.', { ...traceFields(trace), reason, ...why });
        return { kind: 'refused', reason };
      };
      // First: an answer to another sign-in says nothing about this one, not even that it failed.
      const states = new URLSearchParams(query).getAll('state');
      if (states.length !== 1 || states[0] !== attempt.state) return refused('sign_in_superseded', { fault: 'state' });
      const provider = await configured(trace);
      if (provider === undefined) return refused('provider_unavailable', { fault: 'metadata' });
      const { configuration, issuer } = provider;
      const exchange = fetchThrough(parts.network, trace);
      configuration[customFetch] = exchange.fetch;
      try {
        const checks = { expectedState: attempt.state, pkceCodeVerifier: attempt.codeVerifier };
        await authorizationCodeGrant(configuration, new URL(`${client.redirectUri}${query}`), checks);
      } catch (error) {
        const status = exchange.status();
        const sent = [client.clientSecret?.reveal() ?? '', ...exchange.secrets()];
        const said = wordOf(error, 'error');
        const shown = said === undefined || repeatsAny(said, sent) ? undefined : said;
        return refused(reasonOf(error, status), { code: wordOf(error, 'code'), error: shown, status });
      }
      const idToken = exchange.idToken();
      if (idToken === undefined) return refused('provider_unreadable', { fault: 'no_id_token' });
      const verdict = await judgeIdToken(client, parts, { issuer, idToken, attempt }, trace);
      return verdict.kind === 'refused' ? refused(verdict.reason, { fault: verdict.fault }) : verdict;
    },

    async offersSignOut() {
      const document = metadata.cachedDocument();
      // For the next page.
      if (document === undefined) void metadata.document();
      return document !== undefined && isEndpoint(document, 'end_session_endpoint', maybePlain(document));
    },

    async signOutAddress(idToken, trace) {
      const provider = await configured(trace);
      if (provider === undefined) return undefined;
      const { configuration, document } = provider;
      if (!isEndpoint(document, 'end_session_endpoint', maybePlain(document))) return undefined;
      // No `state`: the page after the sign-out says the same to everybody, and changes nothing.
      return buildEndSessionUrl(configuration, {
        post_logout_redirect_uri: client.signedOutUri,
        ...(idToken && { id_token_hint: idToken.reveal() }),
      }).href;
    },
  };
}

/** Fields of a refusal's log line, in addition to its reason. */
interface Why {
  /** The first check that failed. */
  readonly fault?: string;
  /** The library's code. */
  readonly code?: string | undefined;
  /** The provider's own error code. */
  readonly error?: string | undefined;
  /** The status of the token endpoint. */
  readonly status?: number | undefined;
}

type Verdict =
  | Extract<SignInOutcome, { readonly kind: 'signed_in' }>
  | { readonly kind: 'refused'; readonly reason: SignInDenial; readonly fault: string };

/** These say whom the token is about. It is the provider's own, for this client. */
const ACCOUNT_FAULTS: readonly string[] = [
  ...['subject_is_agent', 'subject_not_a_person', 'subject_already_delegated', 'sponsor_key_missing'],
];

/**
 * The checks of OpenID Connect Core 1.0 §3.1.3.7, and those of every other token of the provider: its keys, no delegation,
 * no agent, a usable sponsor key.
 */
async function judgeIdToken(
  { clientId: audience, sponsorKeyClaim }: SignInClient,
  { providerKeys, clock }: Pick<SignInParts, 'providerKeys' | 'clock'>,
  { issuer, idToken, attempt }: { readonly issuer: string; readonly idToken: string; readonly attempt: SignInAttempt },
  trace: Trace | undefined,
): Promise<Verdict> {
  const refused = (reason: SignInDenial, fault: string): Verdict => ({ kind: 'refused', reason, fault });
  const jws = readProviderJws(idToken);
  if (jws === undefined) return refused('id_token_refused', 'subject_malformed');
  const signature = await providerKeys.verify(jws, trace);
  if (signature.kind === 'keys_unavailable' || signature.kind === 'no_registered_keys') {
    return refused('provider_unavailable', signature.kind);
  }
  if (signature.kind !== 'verified') return refused('id_token_refused', signature.kind);
  // The document may be newer than the keys: another issuer's could not be fetched.
  if (signature.issuer !== issuer) return refused('id_token_refused', 'subject_untrusted_issuer');
  const { json } = jws.claims;
  if (member(json, 'nonce') !== attempt.nonce) return refused('id_token_refused', 'other_nonce');
  const [audiences, usedBy] = [member(json, 'aud'), member(json, 'azp') ?? undefined];
  const isForSeveral = Array.isArray(audiences) && audiences.length > 1;
  if (usedBy === undefined ? isForSeveral : usedBy !== audience) return refused('id_token_refused', 'other_azp');
  const now = clock.now();
  const verdict = judgeSubjectToken(jws.claims, { issuer, audience, sponsorKeyClaim, now, latest: now });
  if (verdict.kind === 'refused') {
    const isAccount = verdict.faults.every((fault) => ACCOUNT_FAULTS.includes(fault));
    return refused(isAccount ? 'account_refused' : 'id_token_refused', verdict.faults.join(' '));
  }
  const { subject, sponsorKey, sessionId, issuedAt } = verdict.person;
  if (issuedAt === undefined) return refused('id_token_refused', 'no_issued_at');
  const authenticatedAt = usableSignInTime(verdict.person.authenticatedAt, now);
  const { maxAge } = attempt;
  if (maxAge !== undefined) {
    // A provider that does not know `max_age` ignores it (OpenID Connect Core 1.0 §3.1.2.1).
    if (authenticatedAt === undefined) return refused('sign_in_undated', 'no_auth_time');
    // With the rule of the session that would begin: with another, it could not do what this sign-in is for.
    if (!isSignInRecent({ authenticatedAt, by: 'session' }, maxAge, { now, latest: now })) {
      return refused('sign_in_too_old', 'old_auth_time');
    }
  }
  const person = { subject, sponsorKey, sessionId, authenticatedAt };
  return { kind: 'signed_in', person, issuedAt, issuer, claims: json, idToken: new Secret(idToken) };
}

/**
 * The claims of a person other than `sub` may need a scope (OpenID Connect Core 1.0 §5.4). A provider lists these scopes if
 * it has them (Discovery 1.0 §3), and may refuse one that it does not list.
 */
function scopeFor({ sponsorKeyClaim, moreClaims = [] }: SignInClient, document: JsonObject): string {
  const isPlain = [sponsorKeyClaim, ...moreClaims].every((claim) => claim === 'sub');
  const offered = member(document, 'scopes_supported');
  const ofPerson = isPlain
    ? []
    : ['profile', 'email'].filter((scope) => !isTextList(offered) || offered.includes(scope));
  const more = moreClaims.filter((claim) => isTextList(offered) && offered.includes(claim));
  return [...new Set(['openid', ...ofPerson, ...more])].join(' ');
}

export function clientAuthentication(
  { clientSecret, clientId, assertionAudience }: Omit<SignInClient, 'redirectUri' | 'signedOutUri' | 'sponsorKeyClaim'>,
  document: JsonObject,
  assertion: SignInParts['assertion'],
): ClientAuth {
  if (clientSecret !== undefined) {
    // Without the member, providers accept `client_secret_basic` only (OpenID Connect Discovery 1.0 §3).
    const methods = member(document, 'token_endpoint_auth_methods_supported');
    const isPost = isTextList(methods) && methods.includes('client_secret_post');
    return isPost ? ClientSecretPost(clientSecret.reveal()) : clientSecretBasic(clientId, clientSecret);
  }
  // RFC 7523 §2.2. The library awaits the function.
  return async (server, _client, body) => {
    body.set('client_id', clientId);
    body.set('client_assertion_type', 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
    const audience = assertionAudience === 'issuer' ? server.issuer : (server.token_endpoint ?? server.issuer);
    body.set('client_assertion', await assertion(clientId, audience));
  };
}

/**
 * RFC 6749 §2.3.1. The library's own method also encodes characters that need no encoding, and some providers do not
 * decode: they would take `mandate%2Dpage` for the client's name.
 */
function clientSecretBasic(clientId: string, clientSecret: Secret): ClientAuth {
  const credentials = `${encodeReserved(clientId)}:${encodeReserved(clientSecret.reveal())}`;
  return (_server, _client, _body, headers) => {
    headers.set('authorization', `Basic ${btoa(credentials)}`);
  };
}

/** Encodes all characters but the unreserved ones (RFC 3986 §2.3), which `encodeURIComponent` leaves with five others. */
function encodeReserved(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
}

/**
 * Sends the library's requests as all others of this service: with its limits, certificates and proxy. The library gets
 * what it needs of the answer. It would refuse an ID token for a claim that is null, or for an algorithm that the metadata
 * does not list; `judgeIdToken` checks the token.
 */
function fetchThrough(network: Network, trace: Trace | undefined) {
  let status: number | undefined;
  let idToken: string | undefined;
  let secrets: readonly string[] = [];
  const fetch: CustomFetch = async (url, options) => {
    secrets = secretsIn(new Headers(options.headers), new URLSearchParams(String(options.body)));
    // A provider that did see the first request refuses the repeated one: its code and its assertion are spent.
    const answer = await sendAgainIfCut(network, () => ({
      method: 'POST',
      url,
      headers: options.headers,
      body: String(options.body),
      ...TOKEN_REQUEST,
      trace,
      purpose: 'sign_in',
    }));
    status = isDocument(answer.status) ? 200 : answer.status;
    const document = parseStrictJson(answer.body);
    if (!isJsonObject(document)) return new Response(null, { status, headers: JSON_TYPE });
    idToken = textMember(document, 'id_token');
    const read = Object.fromEntries(READ_MEMBERS.map((name) => [name, member(document, name) ?? undefined]));
    return new Response(JSON.stringify(read), { status, headers: JSON_TYPE });
  };
  return { fetch, status: () => status, idToken: () => idToken, secrets: () => secrets };
}

const READ_MEMBERS = ['access_token', 'token_type', 'error'] as const;
const JSON_TYPE = { 'content-type': 'application/json' };

/** Errors of the provider that pass (OpenID Connect Core 1.0 §3.1.2.6, RFC 6749 §4.1.2.1). */
const PASSING = ['temporarily_unavailable', 'server_error'];
/** The provider was not to ask the person, or did not (OpenID Connect Core 1.0 §3.1.2.6). */
const UNASKED = ['login_required', 'interaction_required', 'account_selection_required', 'consent_required'];

/** @param status of the token endpoint. `undefined` if it sent no answer */
function reasonOf(error: unknown, status: number | undefined): SignInDenial {
  if (error instanceof AuthorizationResponseError) {
    if (PASSING.includes(error.error)) return 'provider_unavailable';
    if (UNASKED.includes(error.error)) return 'login_required';
    return error.error === 'access_denied' ? 'sign_in_cancelled' : 'client_refused';
  }
  const failure = error instanceof Error ? error.cause : undefined;
  if (failure instanceof NetworkFailure) {
    const isBusy = !failure.answered || isPassing(failure.status);
    return isBusy ? 'provider_unavailable' : 'provider_unreadable';
  }
  // Nothing was sent: the library refused the return address.
  if (status === undefined) return 'sign_in_answer_refused';
  if (isPassing(status)) return 'provider_unavailable';
  if (error instanceof ResponseBodyError) {
    if (PASSING.includes(error.error)) return 'provider_unavailable';
    return CODE_ERRORS.includes(error.error) ? 'sign_in_code_refused' : 'client_refused';
  }
  // A provider may refuse a client without a word.
  return status === 401 || status === 403 ? 'client_refused' : 'provider_unreadable';
}

function isPassing(status: number | undefined): boolean {
  return status === 429 || (status ?? 0) >= 500;
}

/** A code of OAuth or of the library. Other text of the provider is not logged. */
function wordOf(error: unknown, name: 'code' | 'error'): string | undefined {
  const value = error instanceof Error ? (error as Error & Record<string, unknown>)[name] : undefined;
  return typeof value === 'string' && /^[A-Za-z0-9_]{1,64}$/.test(value) ? value : undefined;
}
