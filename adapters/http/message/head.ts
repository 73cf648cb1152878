/**
 * Reads a request's query and headers strictly. Of two `Authorization` headers Node keeps the first, and a proxy may
 * keep the other. A header that affects a decision is therefore accepted only once.
 *
 * This folder reads requests and writes answers for all surfaces. On the way in: the head (here), query.ts, bearer.ts
 * for the credential, body.ts. On the way out: problem-details.ts for a refusal, ledger-answers.ts for records, and
 * faults.ts if the handler threw.
 */

import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { trimOws } from '../../../domain/trim-ows.ts';

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

/**
 * Whether the body has one of these media types, and its charset is UTF-8 or unnamed.
 *
 * @param charset `any`: another charset is accepted as well, if only one is named
 */
export function hasMediaType(
  request: IncomingMessage,
  accepted: readonly string[],
  charset: 'utf-8' | 'any' = 'utf-8',
): boolean {
  const header = singleHeader(request, 'content-type');
  if (header.kind !== 'present') return false;
  const [type = '', ...parameters] = header.value.split(';').map(trimOws);
  if (!accepted.includes(type.toLowerCase())) return false;
  // Other parameters (boundary, profile) do not change how these types are parsed.
  const charsets = parameters.flatMap((parameter) => {
    const [name = '', value = ''] = parameter.split('=').map(trimOws);
    return name.toLowerCase() === 'charset' ? [value] : [];
  });
  if (charset === 'any' && charsets.length === 1) return true;
  return charsets.every((value) => /^"?utf-?8"?$/i.test(value));
}

const ENTITY_TAG = /(?:W\/)?("[^"]*")/g;

/**
 * Whether `If-None-Match` names the ETag, weak or not, or is `*` (RFC 9110 §13.1.2). Express also reads `Cache-Control: no-cache`, which
 * the `fetch` of browsers and of Node adds to conditional requests, and then never answers 304.
 *
 * @param tag of the ETag, in quotes, without `W/`
 */
export function isNotModified(request: IncomingMessage, tag: string): boolean {
  const given = request.headers['if-none-match'] ?? '';
  return trimOws(given) === '*' || [...given.matchAll(ENTITY_TAG)].some(([, named]) => named === tag);
}

export const neverStored: RequestHandler = (_request, response, next) => {
  response.setHeader('Cache-Control', 'no-store');
  next();
};

interface QueryParameter {
  readonly rawName: string;
  /** `undefined` if it is not percent-encoded UTF-8. The same holds for `value`. */
  readonly name: string | undefined;
  readonly value: string | undefined;
}

/** All parameters of the query, in order. @param url the request's URL, unchanged */
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

/** Decodes a name or value of a query or form. `undefined` if a percent-escape is broken, or the bytes are not UTF-8. */
export function decodeParameter(text: string): string | undefined {
  try {
    const spaced = text.replaceAll('+', ' ');
    // A token is long and has no escapes: nothing to decode.
    return spaced.includes('%') ? decodeURIComponent(spaced) : spaced;
  } catch {
    return undefined;
  }
}
