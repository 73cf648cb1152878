/**
 * Reads the head of a request that the proxy may pass on. Node's parser has refused what is no HTTP. This refuses what two
 * servers read differently, and what the guard cannot pass on.
 */

import type { IncomingMessage } from 'node:http';
import { headerValues } from '../core/raw-headers.ts';
import { pathOfTarget } from './request-target.ts';

export interface PlainRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** As sent; `undefined` in a request of HTTP/1.0 without it. */
  readonly host: string | undefined;
}

/** RFC 3986 §3.2: a name or an address, and a port. */
const HOST = /^(?:\[[0-9a-f:.]+\]|[\w\-.~!$&'()*+,;=%]+)(?::\d{1,5})?$/i;

/** Node and some other servers drop the headers beyond a number, Node those beyond 2000. */
const MAX_HEADERS = 1000;

/** @returns `undefined` if the request is malformed */
export function plainRequest({
  method = '',
  url = '',
  httpVersion,
  rawHeaders,
}: Pick<IncomingMessage, 'method' | 'url' | 'httpVersion' | 'rawHeaders'>): PlainRequest | undefined {
  const path = pathOfTarget(url);
  // 1. The target, and the host of its URL.
  const [host, ...otherHosts] = headerValues(rawHeaders, 'host');
  const isHost = host === undefined ? httpVersion === '1.0' : otherHosts.length === 0 && HOST.test(host);
  // 2. The body. Its length or its chunks are the parser's; any other coding would be lost on the way. HTTP/1.0 has no
  //    chunks (RFC 9112 §6.1): another server could read them as the next request.
  const codings = headerValues(rawHeaders, 'transfer-encoding');
  const isChunked = codings.length === 1 && /^chunked$/i.test(codings[0] ?? '') && httpVersion === '1.1';
  const isPlainBody = codings.length === 0 || isChunked;
  // 3. The protocol. Node's parser also accepts 0.9 and 2.0. `h2c` is an offer that a server may ignore (RFC 9113 §3.1). A
  //    client that asks for any other waits.
  const isHttp =
    /^1\.[01]$/.test(httpVersion) && headerValues(rawHeaders, 'upgrade').every((protocol) => /^h2c$/i.test(protocol));
  // 4. The upstream must see every header.
  const isWhole = rawHeaders.length <= MAX_HEADERS * 2;
  return path === undefined || !isHost || !isPlainBody || !isHttp || !isWhole ? undefined : { method, path, host };
}
