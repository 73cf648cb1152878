/**
 * URLs in a registration (specification "Agent registration": audiences, `jwks_uri`), and the issuer. An audience is
 * compared character by character with what a token request names, so only text that is one URL to every reader is
 * taken: the characters of RFC 3986 and no others, since URL parsers drop tabs and line feeds and turn backslashes
 * around.
 */

import { travelsInTheClear } from '../transport.ts';

/** Longer than any address in use, short enough for a token that carries it. */
const MAX_URL_LENGTH = 2048;

/**
 * RFC 3986 in ASCII: a host (captured), a port, and a path and query. No userinfo, which would let `https://bank@evil`
 * pass for another place, and no fragment, which has no meaning here (RFC 8707 §2).
 */
const HTTP_URL =
  /^https?:\/\/(\[[0-9A-F:.]+\]|[A-Z0-9._-]+)(?::\d{1,5})?(?:[/?](?:[A-Z0-9\-._~:/?[\]@!$&'()*+,;=]|%[0-9A-F]{2})*)?$/i;

/** What is wrong with an audience; a sentence's end, to follow the name of what holds it. */
export function audienceProblem(text: string): string | undefined {
  return readAddress(text) === undefined
    ? `must be an absolute http or https URL of at most ${MAX_URL_LENGTH} characters, without userinfo or fragment`
    : undefined;
}

/**
 * What is wrong with a `jwks_uri`, in a sentence.
 *
 * @param issuer the control plane's own URL. Keys "served" there would be this service's own, and a registration that
 *   points at them names keys it does not hold (specification "Agent registration", rule 3).
 */
export function jwksUriProblem(text: string, issuer: string): string | undefined {
  const url = readAddress(text);
  if (url?.protocol !== 'https:') {
    return `Must be an absolute https URL of at most ${MAX_URL_LENGTH} characters, without userinfo or fragment.`;
  }
  return hostOf(url) === hostOf(new URL(issuer)) ? "Must be on a host of its own, not the control plane's." : undefined;
}

/** What is wrong with the control plane's own URL, as whoever talks to it has it; a sentence's end. */
export function issuerProblem(text: string): string | undefined {
  const url = readAddress(text);
  if (url === undefined) return 'must be an absolute https URL';
  if (url.search !== '' || text.endsWith('?')) return 'must have no query';
  // Whoever can change what goes over plain http can hand out keys of their own, and read what is sent.
  return travelsInTheClear(url) ? 'must be https: plain http is for a control plane on this machine' : undefined;
}

function readAddress(text: string): URL | undefined {
  const host = text.length <= MAX_URL_LENGTH ? HTTP_URL.exec(text)?.[1] : undefined;
  if (host === undefined || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  // Where the parser understood another host (`0x7f.1` is 127.0.0.1 to it), another reader may not.
  return host.startsWith('[') || url.hostname === host.toLowerCase() ? url : undefined;
}

/** Host and port as the DNS and a socket see them: a final dot names the same host. */
function hostOf(url: URL): string {
  const port = url.port === '' ? '' : `:${url.port}`;
  return `${url.hostname.replace(/\.$/, '')}${port}`;
}
