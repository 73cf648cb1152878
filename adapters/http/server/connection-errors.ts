/**
 * The last response on a connection whose client broke the protocol: fixed words, nothing that the client sent, then the
 * end. Node's parser may have made no request of it, so these are bytes.
 */

import { STATUS_CODES } from 'node:http';
import { problemDocument } from '../message/problem-details.ts';
import type { ShapeFault } from './request-shape.ts';

/** A fixed word, for the log as well. */
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
  target_too_long: [414, 'The target is too long.'],
  host: [400, 'There must be one Host header, a name or an address with or without a port.'],
  framing: [400, 'The body must have a Content-Length, or be sent in HTTP/1.1 chunks and no other encoding.'],
  tunnel: [400, 'This is no proxy.'],
  too_many_headers: [431, 'The request has too many headers.'],
  head_too_large: [431, 'The head of the request is too large.'],
  chunk_too_large: [413, 'The chunk extensions are too large.'],
  too_slow: [408, 'The request did not come in time.'],
  expectation: [417, 'Nothing but 100-continue can be expected here.'],
};

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

/** What Node's parser refused; `undefined` where the connection itself failed, so that no response can reach the client. */
export function parserError(error: Error): ConnectionError | undefined {
  const code = 'code' in error ? String(error.code) : '';
  return BY_CODE.get(code) ?? (code.startsWith('HPE_') ? 'malformed' : undefined);
}

const BY_CODE: ReadonlyMap<string, ConnectionError> = new Map([
  ['HPE_HEADER_OVERFLOW', 'head_too_large'],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', 'chunk_too_large'],
  ['ERR_HTTP_REQUEST_TIMEOUT', 'too_slow'],
]);
