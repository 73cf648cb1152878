/**
 * The last thing said on a connection whose client sent what is no request: fixed words, nothing of what was sent, and
 * the end. There may be no request to answer, so these are bytes, ready to go.
 */

import { STATUS_CODES } from 'node:http';
import { problemDocument } from './problem-details.ts';
import type { ShapeFault } from './request-shape.ts';

/** For the log as well: a fixed word. */
export type ClosingReason =
  | ShapeFault
  | 'malformed'
  | 'head_too_large'
  | 'chunk_too_large'
  | 'too_slow'
  | 'expectation'
  | 'tunnel';

const TOLD: Readonly<Record<ClosingReason, readonly [status: number, detail: string]>> = {
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

/** @param forHead whether it answers a HEAD, which takes no body */
export function closingAnswer(reason: ClosingReason, forHead: boolean): string {
  const { head, body } = ANSWERS[reason];
  return `${head}Date: ${new Date().toUTCString()}\r\n\r\n${forHead ? '' : body}`;
}

interface Bytes {
  readonly head: string;
  readonly body: string;
}

const ANSWERS = Object.fromEntries(
  Object.entries(TOLD).map(([reason, [status, detail]]): [string, Bytes] => {
    const body = JSON.stringify(problemDocument({ status, detail }));
    const head =
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nCache-Control: no-store\r\n` +
      `Content-Type: application/problem+json; charset=utf-8\r\nContent-Length: ${body.length}\r\n`;
    return [reason, { head, body }];
  }),
) as Record<ClosingReason, Bytes>;

/** Of what node's parser refused; `undefined` where nobody is left to tell: the connection itself is broken. */
export function closingReason(error: Error): ClosingReason | undefined {
  const code = 'code' in error ? String(error.code) : '';
  return BY_CODE.get(code) ?? (code.startsWith('HPE_') ? 'malformed' : undefined);
}

const BY_CODE: ReadonlyMap<string, ClosingReason> = new Map([
  ['HPE_HEADER_OVERFLOW', 'head_too_large'],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', 'chunk_too_large'],
  ['ERR_HTTP_REQUEST_TIMEOUT', 'too_slow'],
]);
