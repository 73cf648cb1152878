/**
 * The headers that the proxy passes on. Those of one connection stay there (RFC 9110 §7.6.1). All others keep their order,
 * their letter case and their repetitions, but `Content-Length` is the last: of a `Content-Disposition` behind it, Node
 * decodes the bytes as UTF-8. Then it throws, or writes a line end in place of some letters.
 */

import { trimOws } from '../../../../domain/trim-ows.ts';
import type { AnswerReader } from '../core/answer-reader.ts';
import { headerValues } from '../core/raw-headers.ts';
import { asVariable } from './header-name.ts';
import type { IdentityHeaders } from './identity-headers.ts';
import { tellsWhoSignedIn } from './signed-in-headers.ts';

/** RFC 9110 §7.6.1, §11.7 and §6.6.2. The guard passes no trailers on. */
const OF_ONE_CONNECTION: ReadonlySet<string> = new Set([
  'connection',
  'proxy-connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
]);

/** The guard checks the token, answers `Expect`, and sends a `Host` that it knows. */
const ANSWERED_HERE: ReadonlySet<string> = new Set(['authorization', 'expect', 'host']);

/** Checked under exactly these names: the session, what an MCP message does, and the form and the length of the body. */
const CHECKED_HERE: ReadonlySet<string> = new Set([
  'mcp-session-id',
  'mcp-method',
  'mcp-name',
  'mcp-protocol-version',
  'content-encoding',
  'content-length',
  'content-type',
]);

/**
 * Some frameworks take the method or the path from these. The guard has decided about those of the request line. A server of
 * WSGI removes the value of `Script-Name` from the path, if its peer is on loopback, as the guard is. CGI makes the variable
 * HTTP_PROXY of `Proxy`, by which many programs choose a proxy for their own requests.
 */
const REPLACES_REQUEST: ReadonlySet<string> = new Set([
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
  'x-rewrite-url',
  'script-name',
  'x-script-name',
  'path-info',
]);
/** Some frameworks take the path from this header too. But some gateways send it to the guard themselves. */
const NAMES_REQUEST = 'x-original-url';
const NAMES_PROXY = 'proxy';

/** What a gateway in front sets under exactly these names: a client could add another spelling. */
const OF_GATEWAYS =
  /^(?:x-forwarded-|forwarded$|x-original-|x-real-ip$|x-client-ip$|true-client-ip$|cf-connecting-ip$)/;

/**
 * The headers of an allowed request for the upstream. Those of identity precede the client's: some servers drop the last of
 * too many headers.
 *
 * @param host of the upstream's request
 * @param passed names in lower case in which a gateway in front tells who has signed in
 */
export function requestHeaders(
  raw: readonly string[],
  { host, identity, passed }: { host: string; identity: IdentityHeaders; passed: ReadonlySet<string> },
): string[] {
  const kept = passedOn(raw, (name) => {
    // Servers that put headers into variables read `Transfer_Encoding` as `Transfer-Encoding`: in its chunks they would
    // find a second request.
    const read = asVariable(name);
    const isOther = read !== name && (CHECKED_HERE.has(read) || OF_ONE_CONNECTION.has(read) || OF_GATEWAYS.test(read));
    const isReplacing = REPLACES_REQUEST.has(read) || read === NAMES_REQUEST || read === NAMES_PROXY;
    const isIdentity = read.startsWith('mandate-') || (tellsWhoSignedIn(name) && !passed.has(name));
    return ANSWERED_HERE.has(name) || isOther || isReplacing || isIdentity;
  });
  return ['Host', host, ...Object.entries(identity).flat(), ...kept];
}

/** Of these the mode `decide` reads, or the gateway sets for the service, exactly one spelling. */
const READ_EXACTLY = /^(?:mandate-|x-forwarded-(?:method|uri)$|x-original-(?:method|uri|url)$)/;

/**
 * Whether a server that gets these headers could answer another request than that of the request line, or for another person. A
 * gateway that has not removed another spelling from the question has not removed it from the request.
 */
export function replacesRequest(raw: readonly string[]): boolean {
  return raw.some((given, at) => {
    if (at % 2 === 1) return false;
    const name = given.toLowerCase();
    const read = asVariable(name);
    return REPLACES_REQUEST.has(read) || (read !== name && READ_EXACTLY.test(read));
  });
}

/**
 * The headers of the upstream's answer for the client. Some clients wait for the body that a 204 announces.
 *
 * @param reading reads the body, and may leave out a part of it, or name its type
 */
export function responseHeaders(
  raw: readonly string[],
  status: number,
  { mayShorten = false, contentType }: Partial<AnswerReader> = {},
): string[] {
  // RFC 9110 §8.6.
  const kept = passedOn(raw, (name) => {
    if (name === 'content-type') return contentType !== undefined;
    return (status === 204 || mayShorten) && name === 'content-length';
  });
  return contentType === undefined ? kept : [...kept, 'Content-Type', contentType];
}

/** The form of a body, and what the headers of MCP say of it. */
const OF_BODY = /^(?:content-|accept(?:-encoding)?$|transfer-encoding$|last-event-id$|mcp-(?:method|name|param-))/i;

/**
 * The headers of a message to the server, in the session of a request.
 *
 * @param sent those of the request, as `requestHeaders` returns them
 * @param session that the server began with its answer
 */
export function messageHeaders(sent: readonly string[], body: Buffer, session: string | undefined): string[] {
  const kept = sent.filter((_, at) => !OF_BODY.test(sent[at - (at % 2)] ?? ''));
  return [
    ...kept,
    ...(session === undefined ? [] : ['Mcp-Session-Id', session]),
    ...['Content-Type', 'application/json', 'Accept', 'application/json, text/event-stream'],
    ...['Content-Length', String(body.length)],
  ];
}

/** The same headers of a request whose answer is read. */
export function withoutCoding(headers: readonly string[]): string[] {
  const kept = headers.filter((_, at) => headers[at - (at % 2)]?.toLowerCase() !== 'accept-encoding');
  return [...kept, 'Accept-Encoding', 'identity'];
}

function passedOn(raw: readonly string[], isDropped: (name: string) => boolean): string[] {
  const named = new Set(
    headerValues(raw, 'connection').flatMap((value) => value.split(',').map((name) => trimOws(name).toLowerCase())),
  );
  const kept: string[] = [];
  const length: string[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const { [at]: name = '', [at + 1]: value = '' } = raw;
    const lower = name.toLowerCase();
    if (OF_ONE_CONNECTION.has(lower) || named.has(lower) || isDropped(lower)) continue;
    (lower === 'content-length' ? length : kept).push(name, value);
  }
  return [...kept, ...length];
}
