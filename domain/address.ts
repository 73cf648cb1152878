/** The rules for the URLs of a registration and for the issuer's URL. */

/** Longer than any URL in use, and short enough for a token to carry. */
export const MAX_URL_LENGTH = 2048;

/**
 * RFC 3986 in ASCII: a host (captured), a port, and a path and query. No userinfo: a person could read
 * `https://bank@evil` as the bank's address. No fragment: it has no meaning here (RFC 8707 §2).
 */
const HTTP_URL =
  /^https?:\/\/(\[[0-9A-F:.]+\]|[A-Z0-9._-]+)(?::\d{1,5})?(?:[/?](?:[A-Z0-9\-._~:/?[\]@!$&'()*+,;=]|%[0-9A-F]{2})*)?$/i;

/** The fault of an audience (specification "Agent registration"), worded to follow the field's name; `undefined` for none. */
export function audienceProblem(text: string): string | undefined {
  return httpAddress(text) === undefined
    ? `must be an absolute http or https URL of at most ${MAX_URL_LENGTH} characters, without userinfo or fragment`
    : undefined;
}

const ON_OWN_HOST = "Must be on a host of its own, not the control plane's.";

/**
 * The fault of a `jwks_uri` as a sentence; `undefined` for none.
 *
 * @param issuer the control plane's URL. An agent does not hold the keys published there, so a registration must not
 *   point at them (specification "Agent registration", rule 3).
 */
export function jwksUriProblem(text: string, issuer: string): string | undefined {
  const url = httpAddress(text);
  if (url?.protocol !== 'https:') {
    return `Must be an absolute https URL of at most ${MAX_URL_LENGTH} characters, without userinfo or fragment.`;
  }
  return isSameHost(url, new URL(issuer)) ? ON_OWN_HOST : undefined;
}

/**
 * The fault of a `client_id_document` as a sentence; `undefined` for none (draft-ietf-oauth-client-id-metadata-document §3).
 * The URL is itself a `client_id`, which is compared character by character: it must be as a URL parser writes it.
 *
 * @param issuer the control plane's URL: it describes no clients itself
 */
export function clientDocumentProblem(text: string, issuer: string): string | undefined {
  const url = httpAddress(text);
  if (url?.protocol !== 'https:' || url.pathname === '/' || url.href !== text) {
    return `Must be an absolute https URL with a path, of at most ${MAX_URL_LENGTH} characters, with a lowercase host, and without userinfo, fragment, default port or dot segments.`;
  }
  return isSameHost(url, new URL(issuer)) ? ON_OWN_HOST : undefined;
}

/** The fault of the control plane's own URL, worded to follow the setting's name; `undefined` for none. */
export function issuerProblem(text: string): string | undefined {
  const url = httpAddress(text);
  if (url === undefined) return 'must be an absolute https URL';
  if (url.search !== '' || text.endsWith('?')) return 'must have no query';
  if (isWellKnown(text)) return `must be without /.well-known/…: ${OF_METADATA}`;
  // An attacker on a plain http connection can replace the keys and read the tokens.
  return travelsInTheClear(url) ? 'must be https: plain http is for a control plane on this machine' : undefined;
}

/** The end of a sentence about an issuer below `/.well-known/`. */
export const OF_METADATA = 'that is the address of metadata, and not the issuer';

/** Whether a URL without a query is one of metadata: `/.well-known/` is never part of an issuer (RFC 8414 §3, RFC 8615 §3). */
export function isWellKnown(url: string): boolean {
  return /\/\.well-known(\/|$)/.test(url);
}

/**
 * A token request names an audience, and the service compares it character by character. URL parsers drop tabs and line
 * feeds and turn backslashes into slashes, so two readers could see two URLs. Only the characters of RFC 3986 are accepted.
 */
export function httpAddress(text: string): URL | undefined {
  const host = text.length <= MAX_URL_LENGTH ? HTTP_URL.exec(text)?.[1] : undefined;
  if (host === undefined || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  // Refuse a host that the parser rewrote (`0x7f.1` becomes 127.0.0.1): another reader may not rewrite it.
  return host.startsWith('[') || url.hostname === host.toLowerCase() ? url : undefined;
}

/**
 * Compares hosts without the DNS's final dot: `example.com.` and `example.com` are the same host. The port is no part of a
 * host (RFC 3986 §3.2). On loopback it counts: all programs of a development machine share that host.
 */
export function isSameHost(one: URL, other: URL): boolean {
  const [host, otherHost] = [one.hostname.replace(/\.$/, ''), other.hostname.replace(/\.$/, '')];
  return host === otherHost && (one.port === other.port || !isLoopback(host));
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/;

/** @param host a name or an address; an IPv6 address with or without brackets */
export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host);
}

/** Whether a third party on the network could read or answer requests to this URL. */
export function travelsInTheClear({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && !isLoopback(hostname);
}
