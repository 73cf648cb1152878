/**
 * The access token with which the service queries the identity provider about people. It is a configured one, or the
 * service gets it by `client_credentials` with `private_key_jwt` (supplement "Blocks, poll mode, health"; RFC 6749 §4.4,
 * RFC 7523 §2.2).
 */

import type { ProviderMetadata } from '../../application/ports/identity-provider.ts';
import type { SigningKeys } from '../../application/ports/keys.ts';
import {
  isDocument,
  type Network,
  NetworkFailure,
  type NetworkRequest,
  type Problem,
} from '../../application/ports/network.ts';
import type { Clock, Randomness } from '../../application/ports/runtime.ts';
import { type Instant, plusSeconds, secondsBetween, toSeconds } from '../../domain/instant.ts';
import type { Secret } from '../../domain/secret.ts';
import { isJsonObject, member, parseStrictJson } from '../../domain/tokens/strict-json.ts';
import type { Trace } from '../../domain/trace-context.ts';
import { statusSentence } from './error-code.ts';
import { sendAgainIfCut } from './send-again-if-cut.ts';
import { TOKEN_REQUEST } from './token-endpoint.ts';

type ServiceToken =
  | { readonly kind: 'token'; readonly token: string }
  /** `shared`: the attempt of another caller failed, which that caller reports. */
  | ({ readonly kind: 'unavailable'; readonly shared: boolean } & Problem);

export interface ServiceTokens {
  /** Returns a token that is valid for some time. Waiting callers share one fetch, in the trace of the first. */
  current(trace?: Trace): Promise<ServiceToken>;
  /** Stops using a token that the provider refused. Returns whether the service can get another one. */
  forget(token: string): boolean;
}

/** `Service:UpstreamIdp:ClientAssertionAudience`: the `aud` of the assertions by which the service authenticates. */
export type AssertionAudience = 'issuer' | 'token_endpoint';

export interface ServiceClient {
  readonly tokenUrl: string;
  readonly clientId: string;
  /** `undefined`: the request has no `scope`. */
  readonly scope: string | undefined;
  readonly assertionAudience: AssertionAudience;
}

/** `Service:UpstreamIdp:SponsorCheck:BearerToken`: the users service has no token endpoint. */
export function fixedToken(token: Secret): ServiceTokens {
  return { current: async () => ({ kind: 'token', token: token.reveal() }), forget: () => false };
}

/** Seconds before its expiry in which a token is not used: the time limit of a request. */
const MARGIN = 10;
/** The lifetime in seconds if the provider names none: the shortest usual one. */
const ASSUMED_LIFETIME = 60;
/** RFC 6750 §2.1: the characters that an Authorization header can carry as a bearer token. */
const BEARER_TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;

const DIGITS = /^\d{1,15}$/;

interface TokenParts {
  readonly network: Network;
  readonly clock: Clock;
  readonly metadata: Pick<ProviderMetadata, 'current'>;
  readonly assertion: (clientId: string, audience: string) => Promise<string>;
}

export function serviceTokens(client: ServiceClient, parts: TokenParts): ServiceTokens {
  let held: IssuedToken | undefined;
  let underWay: Promise<IssuedToken | Problem> | undefined;

  async function fetch(trace: Trace | undefined): Promise<IssuedToken | Problem> {
    const issued = await requestToken(client, parts, trace);
    if (!('problem' in issued)) held = issued;
    return issued;
  }

  return {
    async current(trace) {
      if (held !== undefined && parts.clock.now() < held.goodUntil) return { kind: 'token', token: held.token };
      const shared = underWay !== undefined;
      underWay ??= fetch(trace).finally(() => {
        underWay = undefined;
      });
      const issued = await underWay;
      if ('problem' in issued) return { kind: 'unavailable', ...issued, shared };
      // Another query may have discarded the token meanwhile.
      return held === undefined
        ? { kind: 'unavailable', problem: 'The service token was not accepted.', shared: true }
        : { kind: 'token', token: held.token };
    },
    forget(token) {
      if (held?.token === token) held = undefined;
      return true;
    },
  };
}

interface IssuedToken {
  readonly token: string;
  readonly goodUntil: Instant;
}

async function requestToken(
  { tokenUrl, clientId, scope, assertionAudience }: ServiceClient,
  { network, clock, metadata, assertion }: TokenParts,
  trace: Trace | undefined,
): Promise<IssuedToken | Problem> {
  const audience = assertionAudience === 'issuer' ? (await metadata.current(trace))?.issuer : tokenUrl;
  if (audience === undefined) return { problem: "The provider's metadata is not known." };
  const askedAt = clock.now();
  let clientAssertion = '';
  const request = async (): Promise<NetworkRequest> => {
    clientAssertion = await assertion(clientId, audience);
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      ...(scope === undefined ? {} : { scope }),
      client_id: clientId,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: clientAssertion,
    });
    const spentMs = Math.max(0, secondsBetween(askedAt, clock.now()) * 1000);
    return {
      method: 'POST',
      url: tokenUrl,
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
      body: form.toString(),
      timeoutMs: Math.max(1, Math.floor(TOKEN_REQUEST.timeoutMs - spentMs)),
      maxBytes: TOKEN_REQUEST.maxBytes,
      trace,
      purpose: 'service_token',
    };
  };
  try {
    const answer = await sendAgainIfCut(network, request);
    const { status, body } = answer;
    if (!isDocument(status)) return { problem: statusSentence('token endpoint', answer, [clientAssertion]), status };
    const issued = readTokenAnswer(body);
    if (typeof issued === 'string') return { problem: `The token endpoint's answer ${issued}.`, status };
    const margin = Math.min(MARGIN, issued.lifetime / 2);
    return { token: issued.token, goodUntil: plusSeconds(askedAt, issued.lifetime - margin) };
  } catch (cause) {
    if (cause instanceof NetworkFailure) return { problem: cause.message };
    throw cause;
  }
}

/** Returns what is wrong with the answer as the rest of a sentence. */
function readTokenAnswer(body: string): { readonly token: string; readonly lifetime: number } | string {
  const answer = parseStrictJson(body);
  if (!isJsonObject(answer)) return 'is no JSON object, or is ambiguous';
  const token = member(answer, 'access_token');
  const type = member(answer, 'token_type');
  const stated = member(answer, 'expires_in') ?? ASSUMED_LIFETIME;
  // Some providers write the number as text.
  const lifetime = typeof stated === 'string' && DIGITS.test(stated) ? Number(stated) : stated;
  if (typeof token !== 'string' || !BEARER_TOKEN.test(token)) return 'has no usable access_token';
  if (typeof type !== 'string' || type.toLowerCase() !== 'bearer') return 'has no token_type Bearer';
  return typeof lifetime === 'number' && lifetime > 0
    ? { token, lifetime }
    : 'has an expires_in that is no number of seconds above 0';
}

/** Seconds by which `iat` is in the past: some providers refuse an assertion that is a second in the future. */
const BACKDATED = 5;
/** Seconds from `iat` to `exp`. The assertion is used at once, and providers refuse long lifetimes. */
const LIFETIME = 60;
const JTI_BYTES = 16;

/**
 * Authenticates the service at the identity provider: `private_key_jwt` with the active signing key (RFC 7523 §2.2). The
 * provider reads the public key at `/.well-known/jwks.json`. The audience is the provider's issuer or its token endpoint,
 * as a string, because some providers refuse a list. There is no `nbf`, because some allow no clock skew for it.
 */
export function serviceAssertion(
  keys: Pick<SigningKeys, 'sign'>,
  clock: Clock,
  randomness: Pick<Randomness, 'secret'>,
): (clientId: string, audience: string) => Promise<string> {
  return (clientId, audience) => {
    const issuedAt = toSeconds(clock.now()) - BACKDATED;
    return keys.sign('JWT', {
      iss: clientId,
      sub: clientId,
      aud: audience,
      iat: issuedAt,
      exp: issuedAt + LIFETIME,
      jti: randomness.secret(JTI_BYTES),
    });
  };
}
