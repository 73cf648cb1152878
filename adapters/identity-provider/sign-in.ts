/**
 * The sign-in of people at the page `/me` and at `/oauth2/authorize`, and of operators at the console: authorization code with PKCE
 * (OpenID Connect Core 1.0 §3.1, RFC 7636).
 * `openid-client` builds and checks the messages: authorization-request.ts has the request, sign-in-client.ts the client,
 * through-network.ts the way to the provider, sign-in-faults.ts the reasons of failures.
 */

import { authorizationCodeGrant, buildEndSessionUrl, customFetch } from 'openid-client';
import type {
  ProviderMetadata,
  SignIn,
  SignInAttempt,
  SignInOutcome,
} from '../../application/ports/identity-provider.ts';
import type { ProviderKeys } from '../../application/ports/keys.ts';
import type { Network } from '../../application/ports/network.ts';
import type { Clock } from '../../application/ports/runtime.ts';
import { type Log, traceFields } from '../../application/ports/telemetry.ts';
import { Secret } from '../../domain/secret.ts';
import { pushesRequest } from '../../domain/sessions/provider-demands.ts';
import { isSignInRecent, usableSignInTime } from '../../domain/sessions/sign-in-age.ts';
import type { SignInDenial } from '../../domain/sign-in-denial.ts';
import { judgeSubjectToken } from '../../domain/sponsors/subject-token.ts';
import { readProviderJws } from '../../domain/tokens/compact-jws.ts';
import { type JsonObject, member, textMember } from '../../domain/tokens/strict-json.ts';
import type { Trace } from '../../domain/trace-context.ts';
import { authorizationAddress } from './authorization-request.ts';
import { acceptsPlain, isEndpoint, unusableEndpoints } from './endpoints.ts';
import { lacksProof } from './missing-proof.ts';
import { type Assertion, configurationOf, type SignInClient } from './sign-in-client.ts';
import { explainFailure, type Why } from './sign-in-faults.ts';
import { PUSHED_REQUEST, TOKENS, throughNetwork } from './through-network.ts';

interface SignInParts {
  readonly metadata: Pick<ProviderMetadata, 'document' | 'cachedDocument' | 'isPlain'>;
  readonly providerKeys: Pick<ProviderKeys, 'verify'>;
  readonly network: Network;
  readonly clock: Clock;
  readonly log: Log;
  readonly assertion: Assertion;
}

export function signIn(client: SignInClient, parts: SignInParts): SignIn {
  const { metadata, log, network } = parts;
  const maybePlain = (document: JsonObject) => acceptsPlain(document, metadata.isPlain);

  /**
   * A reason instead, if the metadata is unavailable, or does not say where people sign in.
   *
   * @param begins whether the request of a sign-in follows, which may have a separate endpoint
   */
  async function configured(trace: Trace | undefined, { begins = false } = {}) {
    const document = await metadata.document(trace);
    if (document === undefined) return { unusable: 'provider_unavailable' } as const;
    const pushes = begins && pushesRequest(document, client.pushedAuthorization);
    const [missing] = unusableEndpoints(document, metadata.isPlain, pushes);
    if (missing !== undefined) {
      log.warn("The sign-in is unavailable: the identity provider's metadata lacks an endpoint.", { missing });
      return { unusable: 'provider_unreadable' } as const;
    }
    const configuration = configurationOf(client, document, metadata.isPlain, parts.assertion);
    return { configuration, issuer: textMember(document, 'issuer') ?? '', document };
  }

  function refuse(reason: SignInDenial, why: Why, trace: Trace | undefined) {
    log.warn('A sign-in was refused.', { ...traceFields(trace), reason, ...why });
    return { kind: 'refused', reason } as const;
  }

  return {
    async begin(attempt, trace) {
      const provider = await configured(trace, { begins: true });
      if ('unusable' in provider) return { kind: 'refused', reason: provider.unusable };
      const request = throughNetwork(network, PUSHED_REQUEST, trace);
      try {
        return { kind: 'begun', address: await authorizationAddress(client, provider, attempt, request) };
      } catch (error) {
        // Before a request is sent, an error is a fault of this program.
        if (request.answer() === undefined && request.failure() === undefined) throw error;
        const { reason, why } = explainFailure(error, request, client, provider.document);
        return refuse(reason, { ...why, fault: 'pushed_request' }, trace);
      }
    },

    async finish(attempt, query, trace) {
      const refused = (reason: SignInDenial, why: Why): SignInOutcome => refuse(reason, why, trace);
      // First: an answer to another sign-in says nothing about this one, not even that it failed.
      const states = new URLSearchParams(query).getAll('state');
      if (states.length !== 1 || states[0] !== attempt.state) return refused('sign_in_superseded', { fault: 'state' });
      const provider = await configured(trace);
      if ('unusable' in provider) return refused(provider.unusable, { fault: 'metadata' });
      const { configuration, issuer, document } = provider;
      const exchange = throughNetwork(network, TOKENS, trace);
      configuration[customFetch] = exchange.fetch;
      const callback = new URL(`${client.redirectUri}${query}`);
      const checks = { expectedState: attempt.state, pkceCodeVerifier: attempt.codeVerifier };
      try {
        await authorizationCodeGrant(configuration, callback, checks, forTokenEndpoint(client));
      } catch (error) {
        const { reason, why } = explainFailure(error, exchange, client, document);
        const again = throughNetwork(network, TOKENS, trace);
        const isDemanded =
          reason === 'sign_in_code_refused' && (await lacksProof({ configuration, document }, callback, checks, again));
        return refused(isDemanded ? 'sign_in_dpop_demanded' : reason, why);
      }
      const idToken = exchange.idToken();
      if (idToken === undefined) return refused('provider_unreadable', { fault: 'no_id_token' });
      const verdict = await judgeIdToken(client, parts, { issuer, idToken, attempt }, trace);
      if (verdict.kind === 'refused') return refused(verdict.reason, { fault: verdict.fault });
      const accessToken = client.keepsAccessToken ? exchange.accessToken() : undefined;
      return { ...verdict, accessToken: accessToken === undefined ? undefined : new Secret(accessToken) };
    },

    async offersSignOut() {
      if (client.signedOutUri === undefined) return false;
      const document = metadata.cachedDocument();
      // For the next page.
      if (document === undefined) void metadata.document();
      return document !== undefined && isEndpoint(document, 'end_session_endpoint', maybePlain(document));
    },

    async signOutAddress(idToken, trace) {
      if (client.signedOutUri === undefined) return undefined;
      const provider = await configured(trace);
      if ('unusable' in provider) return undefined;
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

/** RFC 8707 §2.2: without it, some providers issue an access token for their own userinfo endpoint. */
function forTokenEndpoint({ providerParameters }: SignInClient): Record<string, string> {
  const resource = providerParameters?.resource;
  return resource === undefined ? {} : { resource };
}

type Verdict =
  | Omit<Extract<SignInOutcome, { readonly kind: 'signed_in' }>, 'accessToken'>
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
