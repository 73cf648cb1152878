/** The identity provider's discovery document (OpenID Connect Discovery 1.0 §4, RFC 8414 §3). */

import type { Log } from '../../application/ports/log.ts';
import { type Network, NetworkFailure } from '../../application/ports/network.ts';
import type { ProviderDescription, ProviderMetadata } from '../../application/ports/provider-metadata.ts';
import { isJsonObject, type Json, member, parseStrictJson } from '../../domain/tokens/strict-json.ts';

/** `Service:UpstreamIdp:Issuer` or `MetadataUrl`: exactly one is set. */
export type ProviderLocation =
  | { readonly kind: 'issuer'; readonly issuer: string }
  | { readonly kind: 'metadata_url'; readonly url: string };

/** As for a key set. */
const TIMEOUT_MS = 5000;
/** The longest documents about have a few hundred members. */
const MAX_BYTES = 256 * 1024;

export function discovery(location: ProviderLocation, network: Network, log: Log): ProviderMetadata {
  let held: ProviderDescription | undefined;
  let underWay: Promise<void> | undefined;
  let lastProblem: string | undefined;
  const url = new URL(metadataUrl(location));

  async function read(): Promise<ProviderDescription | string> {
    try {
      const headers = { accept: 'application/json' };
      const { status, body } = await network.send({
        method: 'GET',
        url: url.href,
        headers,
        timeoutMs: TIMEOUT_MS,
        maxBytes: MAX_BYTES,
      });
      return status === 200 ? describe(parseStrictJson(body), location, url) : `The answer's status was ${status}.`;
    } catch (cause) {
      if (cause instanceof NetworkFailure) return cause.message;
      // Documents are read in the background too, where nobody could catch it.
      log.error("Reading the identity provider's metadata failed.", cause);
      return 'Reading it failed.';
    }
  }

  async function readAndKeep(): Promise<void> {
    const result = await read();
    const problem = typeof result === 'string' ? result : undefined;
    if (typeof result !== 'string') held = result;
    if (problem !== undefined && problem !== lastProblem) {
      log.warn("The identity provider's metadata could not be read.", { host: url.host, problem });
    }
    lastProblem = problem;
  }

  async function refresh(): Promise<ProviderDescription | undefined> {
    underWay ??= readAndKeep().finally(() => {
      underWay = undefined;
    });
    await underWay;
    return held;
  }

  return { refresh, current: async () => held ?? refresh() };
}

/** OpenID Connect Discovery §4: a terminating slash of the issuer goes before the well-known path is appended. */
function metadataUrl(location: ProviderLocation): string {
  if (location.kind === 'metadata_url') return location.url;
  return `${location.issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
}

function describe(document: Json | undefined, location: ProviderLocation, url: URL): ProviderDescription | string {
  if (!isJsonObject(document)) return 'The answer was no JSON object, or an ambiguous one.';
  const issuer = member(document, 'issuer');
  const jwksUri = member(document, 'jwks_uri');
  if (typeof issuer !== 'string' || issuer === '') return 'The document has no issuer.';
  // OpenID Connect Discovery §4.3: exactly, or one provider could speak for another.
  if (location.kind === 'issuer' && issuer !== location.issuer) return 'The document is of another issuer.';
  if (typeof jwksUri !== 'string' || !URL.canParse(jwksUri)) return 'The document has no absolute jwks_uri.';
  const { protocol } = new URL(jwksUri);
  if (protocol !== 'https:' && protocol !== 'http:') return 'The jwks_uri is neither http nor https.';
  // What was said in confidence must not be undone by keys that anybody on the way could replace.
  if (protocol === 'http:' && url.protocol === 'https:') return 'The jwks_uri is http, unlike the document.';
  return { issuer, jwksUri };
}
