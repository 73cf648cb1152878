/**
 * Strict reading of request headers. Node keeps the first of two `Authorization` headers and joins others; two readers
 * in a chain may then act on different ones, so a header that decides something must stand there once.
 */

import type { IncomingMessage } from 'node:http';

/** The header's value; `undefined` when it is absent, `'repeated'` (as the kind) when it stands there more than once. */
export type SingleHeader =
  | { readonly kind: 'absent' }
  | { readonly kind: 'repeated' }
  | { readonly kind: 'present'; readonly value: string };

export function singleHeader(request: IncomingMessage, name: string): SingleHeader {
  const wanted = name.toLowerCase();
  let value: string | undefined;
  for (let at = 0; at + 1 < request.rawHeaders.length; at += 2) {
    if (request.rawHeaders[at]?.toLowerCase() !== wanted) continue;
    if (value !== undefined) return { kind: 'repeated' };
    value = request.rawHeaders[at + 1] ?? '';
  }
  return value === undefined ? { kind: 'absent' } : { kind: 'present', value };
}

/** `token68` of RFC 9110 §11.2, which is also what RFC 6750 §2.1 allows a bearer token to be. */
const BEARER = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i;

export type BearerCredential =
  | { readonly kind: 'absent' }
  | { readonly kind: 'unusable' }
  | { readonly kind: 'present'; readonly token: string };

/** The bearer token of the Authorization header (RFC 6750 §2.1); doubled headers and other schemes are unusable. */
export function bearerCredential(request: IncomingMessage): BearerCredential {
  const header = singleHeader(request, 'authorization');
  if (header.kind === 'absent') return { kind: 'absent' };
  if (header.kind === 'repeated') return { kind: 'unusable' };
  const token = BEARER.exec(header.value.trim())?.[1];
  return token === undefined ? { kind: 'unusable' } : { kind: 'present', token };
}

/** Whether the body is of one of these media types, in UTF-8 or with no charset said. */
export function hasMediaType(request: IncomingMessage, accepted: readonly string[]): boolean {
  const header = singleHeader(request, 'content-type');
  if (header.kind !== 'present') return false;
  const [type = '', ...parameters] = header.value.split(';').map((part) => part.trim());
  if (!accepted.includes(type.toLowerCase())) return false;
  return parameters.every((parameter) => {
    const [name = '', value = ''] = parameter.split('=').map((part) => part.trim());
    // Other parameters (boundary, profile) change nothing about how these types are read.
    return name.toLowerCase() !== 'charset' || /^"?utf-?8"?$/i.test(value);
  });
}
