/**
 * Redirect URIs of clients (RFC 6749 §3.1.2): which may be registered, and whether a presented one is registered.
 *
 * A redirect URI is compared character by character (RFC 9700 §4.1.3), with one exception: on loopback the port is free,
 * because a native program listens on a port that the system chooses (RFC 8252 §7.3). Nothing is decoded, and no host has
 * a second spelling: two readers of one text must never see two addresses.
 */

import { httpAddress, MAX_URL_LENGTH } from '../address.ts';

/** The three hosts of this computer, each only in this spelling. Captures host, port, and the path with the query. */
const LOOPBACK = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(?::([1-9]\d{0,4}))?([/?].*)?$/;
const MAX_PORT = 65535;

/** RFC 3986 in ASCII, without a fragment. */
const PATH_AND_QUERY = /^(?:[A-Za-z0-9\-._~:/?[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*$/;

/**
 * `scheme:/…` (RFC 8252 §7.1), in lowercase: captures the scheme. The authority has no `@`, because a person could read the
 * text before it as the host.
 */
const PRIVATE_USE = /^([a-z][a-z0-9+.-]*):\/(?:\/[^/?@]*(?=[/?]|$)|(?!\/))[^#]*$/;

/** Schemes that a browser or an operating system handles itself: some run or open what follows, none is of one program. */
const TAKEN_SCHEMES: ReadonlySet<string> = new Set([
  'about',
  'acct',
  'android-app',
  'blob',
  'callto',
  'chrome',
  'chrome-extension',
  'chrome-untrusted',
  'cid',
  'content',
  'data',
  'dav',
  'devtools',
  'dns',
  'edge',
  'facetime',
  'feed',
  'file',
  'filesystem',
  'ftp',
  'ftps',
  'geo',
  'gopher',
  'help',
  'http',
  'https',
  'imap',
  'intent',
  'irc',
  'itms',
  'itms-apps',
  'jar',
  'javascript',
  'ldap',
  'ldaps',
  'livescript',
  'mailto',
  'market',
  'mhtml',
  'mid',
  'mocha',
  'moz-extension',
  'news',
  'nfs',
  'nntp',
  'opera',
  'pop',
  'res',
  'resource',
  'rlogin',
  'rtsp',
  'safari-extension',
  'safari-web-extension',
  'search',
  'search-ms',
  'sftp',
  'shell',
  'sip',
  'sips',
  'smb',
  'sms',
  'smsto',
  'ssh',
  'tel',
  'telnet',
  'tn3270',
  'urn',
  'vbscript',
  'view-source',
  'vnc',
  'wais',
  'webcal',
  'ws',
  'wss',
  'wyciwyg',
  'x-apple-helpbasic',
]);
/** Windows and Office hand these to their own handlers (`ms-settings:`, `ms-msdt:`, `ms-word:`). */
const TAKEN_PREFIX = /^(?:ms-|microsoft|web\+)/;

const ABSOLUTE = `must be an absolute URI of at most ${MAX_URL_LENGTH} characters, without user or fragment`;
const SCHEME =
  'must be an https URL, an http URL on 127.0.0.1, [::1] or localhost, or have the lowercase scheme of one program, such as cursor://';

/** RFC 6749 §4.1.2 and §4.1.2.1; RFC 9207 §2. */
const ANSWER_PARAMETERS: readonly string[] = ['code', 'state', 'iss', 'error', 'error_description', 'error_uri'];
const OWN_ANSWER = `must have none of ${ANSWER_PARAMETERS.join(', ')} in its query: the answer would have it twice`;

/** The fault of a redirect URI in a registration, worded to follow its position; `undefined` for none. */
export function redirectUriProblem(uri: string): string | undefined {
  if (uri.length > MAX_URL_LENGTH || !/^[!-~]+$/.test(uri) || uri.includes('#')) return ABSOLUTE;
  // A client that reads the first of two would take a registered text for the answer.
  if (ownParameters(uri).some((name) => ANSWER_PARAMETERS.includes(name))) return OWN_ANSWER;
  if (uri.startsWith('https:')) return httpAddress(uri) === undefined ? ABSOLUTE : undefined;
  if (uri.startsWith('http:')) {
    if (!isLoopbackRedirect(uri))
      return 'must be https, or http on exactly 127.0.0.1, [::1] or localhost with a port from 1 to 65535 or none';
    return undefined;
  }
  const scheme = PATH_AND_QUERY.test(uri) ? PRIVATE_USE.exec(uri)?.[1] : undefined;
  return scheme === undefined || TAKEN_SCHEMES.has(scheme) || TAKEN_PREFIX.test(scheme) ? SCHEME : undefined;
}

function ownParameters(uri: string): readonly string[] {
  const start = uri.indexOf('?');
  return start < 0 ? [] : [...new URLSearchParams(uri.slice(start)).keys()];
}

/** Whether a program on the person's own computer receives the answer, at any port. */
export function isLoopbackRedirect(uri: string): boolean {
  return readLoopback(uri) !== undefined;
}

/** @param registered a redirect URI of a registration or of a client's document */
export function matchesRedirect(registered: string, presented: string): boolean {
  if (registered === presented) return true;
  const [one, other] = [readLoopback(registered), readLoopback(presented)];
  // RFC 8252 §7.3: only the port is not compared.
  return one !== undefined && other !== undefined && one.host === other.host && one.rest === other.rest;
}

/**
 * Where the answer to a request goes; `undefined` if the redirect URI is not registered. A request may leave it out if
 * exactly one is registered whose port is not free (RFC 6749 §3.1.2.3).
 *
 * @param registered those of the registration or of the client's document
 */
export function findRedirect(registered: readonly string[], presented: string | undefined): string | undefined {
  if (presented !== undefined) {
    return presented.length <= MAX_URL_LENGTH && registered.some((uri) => matchesRedirect(uri, presented))
      ? presented
      : undefined;
  }
  const [only] = registered;
  return only !== undefined && registered.length === 1 && !isLoopbackRedirect(only) ? only : undefined;
}

/** What a page says about where the answer goes. */
export type RedirectHost =
  | { readonly kind: 'host'; readonly host: string }
  | { readonly kind: 'this_computer' }
  | { readonly kind: 'scheme'; readonly scheme: string };

/** @param uri a redirect URI without a problem */
export function redirectHost(uri: string): RedirectHost {
  if (isLoopbackRedirect(uri)) return { kind: 'this_computer' };
  const { protocol, host } = new URL(uri);
  return protocol === 'https:' ? { kind: 'host', host } : { kind: 'scheme', scheme: protocol.slice(0, -1) };
}

/**
 * The redirect URI with the parameters of an answer after those of its own query (RFC 6749 §4.1.2). The rest of it stays as
 * it is written: a program compares it with what it has registered.
 */
export function withAnswer(uri: string, parameters: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const query = new URLSearchParams(given).toString();
  if (!uri.includes('?')) return `${uri}?${query}`;
  return /[?&]$/.test(uri) ? `${uri}${query}` : `${uri}&${query}`;
}

function readLoopback(uri: string): { readonly host: string; readonly rest: string } | undefined {
  const found = LOOPBACK.exec(uri);
  const [, host, port, rest = ''] = found ?? [];
  if (host === undefined || Number(port ?? 80) > MAX_PORT || !PATH_AND_QUERY.test(rest)) return undefined;
  // An empty path and `/` are one (RFC 3986 §6.2.3): programs ask people to register either.
  return { host, rest: rest.startsWith('/') ? rest : `/${rest}` };
}
