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

/** Far more than 1 MiB needs, and 280 kB a second for 16 MiB. */
const HELD_BODY_MS = 60_000;

/** Closes the connection of a client whose body, which the guard holds, has not arrived whole in a minute. */
export async function closingIfLate<Read>(
  { socket }: Pick<IncomingMessage, 'socket'>,
  read: Promise<Read>,
): Promise<Read> {
  const timer = setTimeout(() => socket.destroy(), HELD_BODY_MS);
  try {
    return await read;
  } finally {
    clearTimeout(timer);
  }
}

/**
 * The upstream parses the body again. In another charset, for example UTF-7, it could find another value. It must get the
 * type: `Connection` can name a header that does not reach it.
 */
export function isUtf8({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): boolean {
  const types = headerValues(rawHeaders, 'content-type');
  return (
    types.length <= 1 &&
    types.every((type) => !/charset/i.test(type) || /^[^;]*; *charset="?utf-8"?$/i.test(type)) &&
    !headerValues(rawHeaders, 'connection').some((names) => /content-type/i.test(names))
  );
}

/** A text of JSON can hold a form too. The upstream of MCP could find another message in it. */
export function isJsonInUtf8(request: Pick<IncomingMessage, 'headers' | 'rawHeaders'>): boolean {
  const { 'content-type': type = 'application/json' } = request.headers;
  return isUtf8(request) && /^application\/json *(?:;|$)/i.test(type);
}
