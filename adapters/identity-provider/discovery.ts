/**
 * Reads the metadata of a token issuer: the identity provider's discovery document (OpenID Connect Discovery 1.0 §4,
 * RFC 8414 §3), or the configuration of a transmitter (Shared Signals Framework 1.0 §7).
 *
 * This folder asks the identity provider, and everything begins with its metadata. sign-in.ts signs people in at the
 * pages. polled-sponsors.ts asks whether agents may act for a person: users-service.ts queries the provider's admin
 * API, with the access token of service-token.ts, and circuit.ts pauses the queries while the provider fails.
 * client-trial.ts and users-trial.ts try the same for `mandate doctor`, without a person. Keys are fetched in
 * `adapters/jose`.
 */

import type {
  ProviderDescription,
  ProviderMetadata,
  ReadMetadata,
  UnreadMetadata,
} from '../../application/ports/identity-provider.ts';
import { isDocument, type Network, NetworkFailure } from '../../application/ports/network.ts';
import { type Log, traceFields } from '../../application/ports/telemetry.ts';
import { issuerFault } from '../../domain/tokens/issuer-fault.ts';
import { isJsonObject, type JsonObject, member, parseStrictJson } from '../../domain/tokens/strict-json.ts';
import type { Trace } from '../../domain/trace-context.ts';

/** Set by `Service:UpstreamIdp:Issuer` or `MetadataUrl` (exactly one is set), or by `Service:Ssf:Issuer`. */
export type ProviderLocation =
  | { readonly kind: 'issuer'; readonly issuer: string }
  | { readonly kind: 'metadata_url'; readonly url: string }
  | { readonly kind: 'transmitter'; readonly issuer: string };

/** The same limit as for a key set. */
const TIMEOUT_MS = 5000;
/** The longest known documents have a few hundred members. */
const MAX_BYTES = 256 * 1024;

/** Reads the metadata, and logs why it cannot. A line is logged only if the problem differs from the previous one. */
export function discovery(location: ProviderLocation, network: Network, log: Log): ProviderMetadata {
  let held: ReadMetadata | undefined;
  let underWay: Promise<void> | undefined;
  let lastProblem: string | undefined;
  let retryAfter: number | undefined;
  let timedOut = false;
  const [{ host, protocol }] = metadataUrls(location);
  const owner = location.kind === 'transmitter' ? 'transmitter' : 'identity provider';

  /** Logs a line when the document is first read, and when an issuer has changed, if the issuer needs attention. */
  function remarkOnIssuer({ issuer, accessTokenIssuer = issuer }: ProviderDescription): void {
    const known = held?.description;
    if (known?.issuer === issuer && (known.accessTokenIssuer ?? issuer) === accessTokenIssuer) return;
    const fault = issuerFault(issuer) ?? issuerFault(accessTokenIssuer);
    if (fault !== undefined)
      log.warn(`The ${owner}'s metadata names an issuer that no token can have.`, { host, fault });
    else if (accessTokenIssuer !== (known?.accessTokenIssuer ?? issuer)) {
      log.info(`Access tokens of the ${owner} must have this issuer, by its metadata.`, {
        host,
        issuer: accessTokenIssuer,
      });
    }
  }

  async function readAndKeep(trace: Trace | undefined): Promise<void> {
    const answer = await readMetadata(location, network, trace);
    if (!('problem' in answer)) {
      remarkOnIssuer(answer.description);
      held = answer;
      lastProblem = undefined;
      retryAfter = undefined;
      timedOut = false;
      return;
    }
    const { problem, cause } = answer;
    ({ retryAfter, timedOut = false } = answer);
    // Documents are also read in the background, where no caller could catch the error.
    if (cause !== undefined) log.error(`Reading the ${owner}'s metadata failed.`, cause, traceFields(trace));
    if (problem !== lastProblem) {
      log.warn(`The ${owner}'s metadata could not be read.`, { ...traceFields(trace), host, problem });
    }
    lastProblem = problem;
  }

  async function refresh(trace?: Trace): Promise<ProviderDescription | undefined> {
    underWay ??= readAndKeep(trace).finally(() => {
      underWay = undefined;
    });
    await underWay;
    return held?.description;
  }

  const current = async (trace?: Trace) => held?.description ?? refresh(trace);
  return {
    refresh,
    current,
    isPlain: protocol === 'http:',
    retryAfter: () => retryAfter,
    hasTimedOut: () => timedOut,
    cached: () => held?.description,
    cachedDocument: () => held?.document,
    async document(trace) {
      await current(trace);
      return held?.document;
    },
  };
}

interface Unread extends UnreadMetadata {
  readonly retryAfter?: number | undefined;
  /** Whether no response arrived. */
  readonly isSilent?: boolean;
  /** Whether the time limit ended the request. */
  readonly timedOut?: boolean;
  /** An error that is a fault of this program. */
  readonly cause?: unknown;
}

/** Reads the metadata. The problem is that of the first address, where the document should be. */
export function readMetadata(
  location: ProviderLocation,
  network: Network,
  trace?: Trace,
): Promise<ReadMetadata | Unread> {
  const readFirst = async ([url, next, ...others]: Addresses): Promise<ReadMetadata | Unread> => {
    const answer = await readAt(url, location, network, trace);
    // All addresses are on one host. After a timeout the others are not tried.
    if (!('problem' in answer) || answer.isSilent === true || next === undefined) return answer;
    const later = await readFirst([next, ...others]);
    return 'problem' in later ? { ...answer, retryAfter: answer.retryAfter ?? later.retryAfter } : later;
  };
  return readFirst(metadataUrls(location));
}

async function readAt(
  url: URL,
  location: ProviderLocation,
  network: Network,
  trace: Trace | undefined,
): Promise<ReadMetadata | Unread> {
  try {
    const { status, body, date, retryAfter } = await network.send({
      method: 'GET',
      url: url.href,
      headers: { accept: 'application/json' },
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
      trace,
      purpose: 'metadata',
    });
    if (!isDocument(status)) return { problem: `The answer's status was ${status}.`, status, date, retryAfter };
    const document = parseStrictJson(body);
    if (!isJsonObject(document)) return { problem: 'The answer is not a JSON object, or is ambiguous.', status, date };
    const described = describe(document, location, url);
    return typeof described === 'string'
      ? { problem: described, status, date }
      : { description: described, document, date };
  } catch (cause) {
    if (cause instanceof NetworkFailure) {
      const { message: problem, answered, timedOut } = cause;
      return { problem, isSilent: !answered, timedOut };
    }
    return { problem: 'Reading it failed.', cause };
  }
}

type Addresses = readonly [URL, ...URL[]];

/** The addresses at which the document may be, in order. */
function metadataUrls(location: ProviderLocation): Addresses {
  if (location.kind === 'metadata_url') return [new URL(location.url)];
  const issuer = location.issuer.replace(/\/$/, '');
  // OpenID Connect Discovery §4: a trailing slash of the issuer is removed before the well-known path is appended.
  const openid = new URL(`${issuer}/.well-known/openid-configuration`);
  if (location.kind === 'issuer') return [openid];
  // Shared Signals Framework §7.2 inserts the well-known path before the issuer's path. Some transmitters append it, some
  // publish only OpenID's document.
  const inserted = new URL(issuer);
  inserted.pathname = `/.well-known/ssf-configuration${inserted.pathname.replace(/\/$/, '')}`;
  const appended = new URL(`${issuer}/.well-known/ssf-configuration`);
  return inserted.href === appended.href ? [inserted, openid] : [inserted, appended, openid];
}

function describe(document: JsonObject, location: ProviderLocation, url: URL): ProviderDescription | string {
  const issuer = member(document, 'issuer');
  const jwksUri = member(document, 'jwks_uri');
  if (typeof issuer !== 'string' || issuer === '') return 'The document has no issuer.';
  // OpenID Connect Discovery §4.3: the issuer must match exactly. Otherwise one provider could impersonate another.
  if (location.kind !== 'metadata_url' && issuer !== location.issuer) {
    return issuerFault(issuer) === 'template'
      ? 'The document names no issuer, but a template for those of several tenants.'
      : 'The document names another issuer.';
  }
  if (typeof jwksUri !== 'string' || !URL.canParse(jwksUri)) return 'The document has no absolute jwks_uri.';
  const { protocol } = new URL(jwksUri);
  if (protocol !== 'https:' && protocol !== 'http:') return 'The jwks_uri is neither http nor https.';
  // Keys over plain http could be replaced in transit, which would defeat the https of the document.
  if (protocol === 'http:' && url.protocol === 'https:') return 'The jwks_uri is http, unlike the document.';
  // AD FS. A transmitter issues no access tokens.
  const ofAccessTokens =
    location.kind === 'transmitter' ? undefined : (member(document, 'access_token_issuer') ?? undefined);
  if (ofAccessTokens === undefined || ofAccessTokens === issuer) return { issuer, jwksUri };
  if (typeof ofAccessTokens !== 'string' || ofAccessTokens === '') return 'The access_token_issuer is no text.';
  return { issuer, accessTokenIssuer: ofAccessTokens, jwksUri };
}
