/** The body of a request to the proxy, before it is read. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { headerValues } from '../core/raw-headers.ts';

/** Whether the request has a body (RFC 9112 §6). */
export function hasBody({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** Asks a client that waits for `100 Continue` to send its body (RFC 9110 §10.1.1). */
export function inviteBody({ headers, httpVersion }: IncomingMessage, response: ServerResponse): void {
  if (headers.expect !== undefined && httpVersion === '1.1') response.writeContinue();
}

/** The upstream parses the body again. In another charset, for example UTF-7, it could find another value. */
export function isUtf8({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): boolean {
  const types = headerValues(rawHeaders, 'content-type');
  return (
    types.length <= 1 && types.every((type) => !/charset/i.test(type) || /^[^;]*; *charset="?utf-8"?$/i.test(type))
  );
}
