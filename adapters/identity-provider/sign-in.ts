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
  clockTolerance,
  customFetch,
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
import { type Instant, plusSeconds } from '../../domain/instant.ts';
import type { Secret } from '../../domain/secret.ts';
import { judgeSubjectToken } from '../../domain/sponsors/subject-token.ts';
import { CLOCK_SKEW_SECONDS, isTextList, readProviderJws, textClaim } from '../../domain/tokens/compact-jws.ts';
import { type JsonObject, member } from '../../domain/tokens/strict-json.ts';
import type { Trace } from '../../domain/trace-context.ts';
import { repeatsAny } from './error-code.ts';
import type { AssertionAudience } from './service-token.ts';

export interface SignInClient {
  readonly clientId: string;
  /** `undefined` for `private_key_jwt`. */
  readonly clientSecret: Secret | undefined;
  readonly assertionAudience: AssertionAudience;
  readonly redirectUri: string;
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
  readonly metadata: Pick<ProviderMetadata, 'document' | 'isPlain'>;
  readonly providerKeys: Pick<ProviderKeys, 'verify'>;
  readonly network: Network;
  readonly clock: Clock;
  readonly log: Log;
  readonly assertion: (clientId: string, audience: string) => Promise<string>;
}

/** The same limits as for the service's own token (service-token.ts). */
const TIMEOUT_MS = 10_000;
const MAX_BYTES = 64 * 1024;

export function signIn(client: SignInClient, parts: SignInParts): SignIn {
  const { metadata, log } = parts;

  /** `undefined` if the metadata is unavailable, or does not say where people sign in. */
  async function configured(trace: Trace | undefined) {
    const document = await metadata.document(trace);
    if (document === undefined) return undefined;
    const issuer = textClaim(document, 'issuer') ?? '';
    const maybePlain = metadata.isPlain && issuer.startsWith('http:');
    const missing = ['authorization_endpoint', 'token_endpoint'].find(
      (name) => !isEndpoint(document, name, maybePlain),
    );
    if (missing !== undefined) {
      log.warn("The sign-in is unavailable: the identity provider's metadata lacks an endpoint.", { missing });
      return undefined;
    }
    const server = { ...document, issuer } as ServerMetadata;
    const options = { [clockTolerance]: CLOCK_SKEW_SECONDS };
    const auth = clientAuthentication(client, document, parts.assertion);
    const configuration = new Configuration(server, client.clientId, options, auth);
    // Only a test's or a developer's provider has no TLS.
    if (maybePlain) allowInsecureRequests(configuration);
    return { configuration, issuer, document, maybePlain };
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
        ...{ state, nonce },
        code_challenge: await calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
        ...(askedAge === undefined ? {} : { max_age: String(askedAge) }),
      }).href;
    },

    async finish(attempt, query, trace) {
      const provider = await configured(trace);
      if (provider === undefined) return { kind: 'refused', reason: 'provider_unavailable' };
      const { configuration, issuer } = provider;
      const exchange = fetchThrough(parts.network, trace);
      configuration[customFetch] = exchange.fetch;
      const { state: expectedState, nonce: expectedNonce, codeVerifier: pkceCodeVerifier } = attempt;
      let idToken: string | undefined;
      try {
        const checks = { expectedState, expectedNonce, pkceCodeVerifier, idTokenExpected: true };
        const answer = new URL(`${client.redirectUri}${query}`);
        idToken = (await authorizationCodeGrant(configuration, answer, checks)).id_token;
      } catch (error) {
        const reason = reasonOf(error, exchange.status());
        const sent = client.clientSecret === undefined ? [] : [client.clientSecret.reveal()];
        const said = wordOf(error, 'error');
        const shown = said === undefined || repeatsAny(said, sent) ? undefined : said;
        const about = { reason, code: wordOf(error, 'code'), error: shown, status: exchange.status() };
        log.warn('A sign-in was refused.', { ...traceFields(trace), ...about });
        return { kind: 'refused', reason };
      }
      return judgeIdToken(client, parts, { issuer, idToken: idToken ?? '', attempt }, trace);
    },

    async signOutAddress(trace) {
      const provider = await configured(trace);
      if (provider === undefined) return undefined;
      const { configuration, document, maybePlain } = provider;
      if (!isEndpoint(document, 'end_session_endpoint', maybePlain)) return undefined;
      return buildEndSessionUrl(configuration).href;
    },
  };
}

/**
 * The library has checked the claims of OpenID Connect. The provider's keys and the rules for subject tokens are checked
 * as for every other token of the provider: no delegation, no agent, a usable sponsor key.
 */
async function judgeIdToken(
  { clientId: audience, sponsorKeyClaim }: SignInClient,
  { providerKeys, clock, log }: SignInParts,
  { issuer, idToken, attempt }: { readonly issuer: string; readonly idToken: string; readonly attempt: SignInAttempt },
  trace: Trace | undefined,
): Promise<SignInOutcome> {
  const refused = (reason: SignInDenial, fault: string): SignInOutcome => {
    log.warn('A sign-in was refused.', { ...traceFields(trace), reason, fault });
    return { kind: 'refused', reason };
  };
  const jws = readProviderJws(idToken);
  if (jws === undefined) return refused('sign_in_refused', 'subject_malformed');
  const signature = await providerKeys.verify(jws, trace);
  if (signature.kind === 'keys_unavailable' || signature.kind === 'no_registered_keys') {
    return refused('provider_unavailable', signature.kind);
  }
  if (signature.kind !== 'verified') return refused('sign_in_refused', signature.kind);
  // OpenID Connect Core 1.0 §3.1.3.7. The library checks `azp` only beside several audiences.
  const usedBy = member(jws.claims, 'azp') ?? audience;
  if (usedBy !== audience) return refused('sign_in_refused', 'other_azp');
  const now = clock.now();
  const verdict = judgeSubjectToken(jws.claims, { issuer, audience, sponsorKeyClaim, now, latest: now });
  if (verdict.kind === 'refused') return refused('sign_in_refused', verdict.faults.join(' '));
  const { subject, sponsorKey, sessionId, issuedAt } = verdict.person;
  const authenticatedAt = usableTime(verdict.person.authenticatedAt, now);
  const { maxAge } = attempt;
  // A provider that does not know `max_age` answers all the same (OpenID Connect Core 1.0 §3.1.2.1, §3.1.3.7).
  const isOld =
    maxAge !== undefined &&
    (authenticatedAt === undefined || plusSeconds(authenticatedAt, maxAge + CLOCK_SKEW_SECONDS) < now);
  if (isOld) return refused('sign_in_too_old', authenticatedAt === undefined ? 'no_auth_time' : 'old_auth_time');
  const person = { subject, sponsorKey, sessionId, authenticatedAt };
  return { kind: 'signed_in', person, issuedAt, issuer, claims: jws.claims };
}

/** A time a little ahead is now: the provider's clock is ahead. One further ahead says nothing about the person. */
function usableTime(stated: Instant | undefined, now: Instant): Instant | undefined {
  if (stated === undefined || stated > plusSeconds(now, CLOCK_SKEW_SECONDS)) return undefined;
  return stated > now ? now : stated;
}

/** The claims of a person other than `sub` may need a scope (OpenID Connect Core 1.0 §5.4). */
function scopeFor({ sponsorKeyClaim, moreClaims = [] }: SignInClient, document: JsonObject): string {
  const isPlain = [sponsorKeyClaim, ...moreClaims].every((claim) => claim === 'sub');
  const offered = member(document, 'scopes_supported');
  const more = moreClaims.filter((claim) => isTextList(offered) && offered.includes(claim));
  return [...new Set([...(isPlain ? ['openid'] : ['openid', 'profile', 'email']), ...more])].join(' ');
}

/**
 * A code or a secret over plain http could be read in transit.
 *
 * @param maybePlain whether plain http is accepted: only if neither the document's address nor its issuer has TLS
 */
function isEndpoint(document: JsonObject, name: string, maybePlain: boolean): boolean {
  const address = textClaim(document, name);
  if (address === undefined || !URL.canParse(address)) return false;
  const { protocol } = new URL(address);
  return protocol === 'https:' || (protocol === 'http:' && maybePlain);
}

function clientAuthentication(
  { clientSecret, clientId, assertionAudience }: SignInClient,
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

/** Sends the library's requests as all others of this service: with its limits, certificates and proxy. */
function fetchThrough(network: Network, trace: Trace | undefined) {
  let status: number | undefined;
  const fetch: CustomFetch = async (url, options) => {
    const answer = await network.send({
      ...{ method: 'POST', url, headers: options.headers, body: String(options.body) },
      ...{ timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES, trace, purpose: 'sign_in' },
    });
    status = isDocument(answer.status) ? 200 : answer.status;
    // `Network` keeps no headers. A body that is not JSON is refused all the same.
    const headers = { 'content-type': 'application/json' };
    return new Response(answer.body === '' ? null : answer.body, { status, headers });
  };
  return { fetch, status: () => status };
}

/** Errors of the provider that pass (OpenID Connect Core 1.0 §3.1.2.6, RFC 6749 §4.1.2.1). */
const PASSING = ['temporarily_unavailable', 'server_error'];

function reasonOf(error: unknown, status: number | undefined): SignInDenial {
  if (error instanceof AuthorizationResponseError) {
    if (PASSING.includes(error.error)) return 'provider_unavailable';
    return error.error === 'access_denied' ? 'sign_in_cancelled' : 'sign_in_refused';
  }
  const isSilent = error instanceof Error && error.cause instanceof NetworkFailure;
  return isSilent || status === 429 || (status ?? 0) >= 500 ? 'provider_unavailable' : 'sign_in_refused';
}

/** A code of OAuth or of the library. Other text of the provider is not logged. */
function wordOf(error: unknown, name: 'code' | 'error'): string | undefined {
  const value = error instanceof Error ? (error as Error & Record<string, unknown>)[name] : undefined;
  return typeof value === 'string' && /^[A-Za-z0-9_]{1,64}$/.test(value) ? value : undefined;
}
