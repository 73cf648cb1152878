/**
 * Strict reading of a request's query and headers. Node keeps the first of two `Authorization` headers and joins others,
 * and a proxy may do otherwise. A header on which a decision depends is therefore accepted only once.
 */

import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';

type SingleHeader =
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

/** Whether the body is of one of these media types, in UTF-8 or without a charset. */
export function hasMediaType(request: IncomingMessage, accepted: readonly string[]): boolean {
  const header = singleHeader(request, 'content-type');
  if (header.kind !== 'present') return false;
  const [type = '', ...parameters] = header.value.split(';').map((part) => part.trim());
  if (!accepted.includes(type.toLowerCase())) return false;
  return parameters.every((parameter) => {
    const [name = '', value = ''] = parameter.split('=').map((part) => part.trim());
    // Other parameters (boundary, profile) do not change how these types are parsed.
    return name.toLowerCase() !== 'charset' || /^"?utf-?8"?$/i.test(value);
  });
}

export const neverStored: RequestHandler = (_request, response, next) => {
  response.setHeader('Cache-Control', 'no-store');
  next();
};

interface QueryParameter {
  readonly rawName: string;
  /** `undefined` if it is not percent-encoded UTF-8; so is `value`. */
  readonly name: string | undefined;
  readonly value: string | undefined;
}

/** Every parameter of the query, in order. @param url of the request, unchanged */
export function queryParameters(url: string): readonly QueryParameter[] {
  const start = url.indexOf('?');
  const parts = start < 0 ? [] : url.slice(start + 1).split('&');
  return parts
    .filter((part) => part !== '')
    .map((part) => {
      const [rawName = '', ...rest] = part.split('=');
      return { rawName, name: decodeParameter(rawName), value: decodeParameter(rest.join('=')) };
    });
}

/** A name or a value of a query or a form; `undefined` for a broken percent-escape, or one that is not UTF-8. */
export function decodeParameter(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}
