/**
 * Checks the syntax of a request's head before anything else (RFC 9112 §3, §6; RFC 9110 §7.2), and answers protocol
 * errors. Refuses what Node's parser accepts although a proxy and a server could parse it differently.
 */

import { type IncomingMessage, STATUS_CODES } from 'node:http';
import { problemDocument } from './problem-document.ts';

type ShapeFault = 'version' | 'target' | 'target_too_long' | 'host' | 'framing' | 'too_many_headers';

/** RFC 9110 §4.1 asks for at least 8000. The longest useful target, an audit query, has about 6000. */
export const MAX_TARGET_LENGTH = 8192;
/** About ten headers are usual, and proxies add a few. */
const MAX_HEADERS = 100;

/** @param isOwnTarget whether the target is one of this server: otherwise it is not checked */
export function shapeFault(
  request: Pick<IncomingMessage, 'rawHeaders' | 'method' | 'url' | 'httpVersion'>,
  isOwnTarget = true,
): ShapeFault | undefined {
  const { rawHeaders, method, url = '', httpVersion } = request;
  // Node's parser also accepts 0.9, which has no headers, and 2.0, which is a binary protocol.
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return 'version';
  if (rawHeaders.length / 2 > MAX_HEADERS) return 'too_many_headers';
  if (isOwnTarget && url.length > MAX_TARGET_LENGTH) return 'target_too_long';
  // RFC 9112 §3.2.4: `*` is a target of OPTIONS only.
  if (isOwnTarget && (url === '*' ? method !== 'OPTIONS' : !ORIGIN_FORM.test(url) || hasDotSegment(url)))
    return 'target';
  let hosts = 0;
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const [name = '', value = ''] = [rawHeaders[at], rawHeaders[at + 1]];
    if (name.length === HOST.length && name.toLowerCase() === HOST) {
      hosts += 1;
      if (!HOST_VALUE.test(value)) return 'host';
    } else if (name.length === TRANSFER_ENCODING.length && name.toLowerCase() === TRANSFER_ENCODING) {
      // With other codings the end of the body is ambiguous, and HTTP/1.0 has no transfer coding (RFC 9112 §6.1). Node's
      // parser refuses a repeated header.
      if (value.toLowerCase() !== 'chunked' || httpVersion === '1.0') return 'framing';
    }
  }
  return hosts === 1 || (hosts === 0 && httpVersion === '1.0') ? undefined : 'host';
}

const HOST = 'host';
const TRANSFER_ENCODING = 'transfer-encoding';

/**
 * A name, an IPv4 or an IPv6 address, each with or without a port. RFC 3986 §3.2.2 allows more characters in a name than
 * the DNS. One is the comma, with which two repeated headers are joined.
 */
const HOST_VALUE = /^(?:[\w.-]+|\[[\dA-Fa-f:.]+\])(?::\d{0,5})?$/;

/**
 * A path and a query (RFC 9112 §3.2.1). An absolute URL is refused, because the router would use its path. A fragment and a
 * backslash are refused, because the router interprets them differently.
 */
const ORIGIN_FORM = /^\/[!-"$-[\]-~]*$/;

/** `.` and `..` in any encoding (RFC 3986 §3.3, §6.2.2.3). A proxy may resolve them to another path. */
const DOT_SEGMENT = /\/(?:\.|%2e){1,2}(?:[/?]|$)/i;

function hasDotSegment(url: string): boolean {
  // This test is cheaper than the regular expression, and sufficient for most requests.
  if (!url.includes('/.') && !url.includes('/%2')) return false;
  const query = url.indexOf('?');
  return DOT_SEGMENT.test(query === -1 ? url : url.slice(0, query));
}

/** A fixed word, which is also logged. */
export type ConnectionError =
  | ShapeFault
  | 'malformed'
  | 'head_too_large'
  | 'chunk_too_large'
  | 'too_slow'
  | 'expectation'
  | 'tunnel';

const ERRORS: Readonly<Record<ConnectionError, readonly [status: number, detail: string]>> = {
  malformed: [400, 'The request is not well-formed HTTP/1.1.'],
  version: [400, 'The request is not well-formed HTTP/1.1.'],
  target: [400, 'The target must be a path and a query, in ASCII and without dot segments.'],
  target_too_long: [414, 'The target is too long. In a browser, begin again at the start of the page.'],
  host: [400, 'There must be one Host header, a name or an address with or without a port.'],
  framing: [400, 'The body must have a Content-Length, or be sent in HTTP/1.1 chunks and no other encoding.'],
  tunnel: [400, 'This is no proxy.'],
  too_many_headers: [431, 'The request has too many headers.'],
  head_too_large: [431, 'The head of the request is too large. In a browser, begin again at the start of the page.'],
  chunk_too_large: [413, 'The chunk extensions are too large.'],
  too_slow: [408, 'The request did not come in time.'],
  expectation: [417, 'Nothing but 100-continue can be expected here.'],
};

/**
 * The last response on a connection whose client broke the protocol. Its fixed words repeat nothing of the request. It is
 * a string, because Node may have created no response object.
 */
export function connectionErrorResponse(error: ConnectionError): string {
  const { head, body } = RESPONSES[error];
  return `${head}Date: ${new Date().toUTCString()}\r\n\r\n${body}`;
}

interface Bytes {
  readonly head: string;
  readonly body: string;
}

const RESPONSES = Object.fromEntries(
  Object.entries(ERRORS).map(([error, [status, detail]]): [string, Bytes] => {
    const body = JSON.stringify(problemDocument({ status, detail }));
    const head =
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nCache-Control: no-store\r\n` +
      `Content-Type: application/problem+json; charset=utf-8\r\nContent-Length: ${body.length}\r\n`;
    return [error, { head, body }];
  }),
) as Record<ConnectionError, Bytes>;

/** The error that Node's parser found. `undefined` if the connection failed, so that no response can be sent. */
export function parserError(error: Error): ConnectionError | undefined {
  const code = codeOf(error);
  return BY_CODE.get(code) ?? (code.startsWith('HPE_') ? 'malformed' : undefined);
}

/** Whether Node's parser found that the client closed its side in the middle of a request. */
export function isCutOff(error: Error): boolean {
  return codeOf(error) === 'HPE_INVALID_EOF_STATE';
}

function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : '';
}

const BY_CODE: ReadonlyMap<string, ConnectionError> = new Map([
  ['HPE_HEADER_OVERFLOW', 'head_too_large'],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', 'chunk_too_large'],
  ['ERR_HTTP_REQUEST_TIMEOUT', 'too_slow'],
]);
