/** Parses the query and the body of a SCIM request. */

import type { Request, Response } from 'express';
import type { UsersListing } from '../../../application/signals/provision-user.ts';
import { type ScimFault, scimFault } from '../../../domain/signals/user-attribute.ts';
import { readUserFilter } from '../../../domain/signals/user-filter.ts';
import { isJsonObject, type JsonObject } from '../../../domain/tokens/strict-json.ts';
import { parseJson, readTypedBody } from '../message/body.ts';
import { queryParameters } from '../message/head.ts';
import { answerInvalid, answerScimError } from './answers.ts';

/** The page size limit of the supplement ("SCIM"). */
export const MAX_PAGE_OF_USERS = 200;
/** Any number of digits is an integer (supplement "SCIM"). The maximum length of the request target limits them. */
const INTEGER = /^-?\d+$/;

const KNOWN = ['filter', 'startIndex', 'count'] as const;

/**
 * Parses the query of a listing (RFC 7644 §3.4.2; supplement "SCIM"). Unknown parameters are ignored, because clients send
 * attribute lists and flags. A known parameter must not be repeated.
 *
 * @param url the request's URL, unchanged
 */
export function readListQuery(url: string): ({ readonly kind: 'read' } & UsersListing) | ScimFault {
  const given = new Map<string, string>();
  for (const { name: sent, value } of queryParameters(url)) {
    const name = KNOWN.find((known) => known.toLowerCase() === sent?.toLowerCase());
    if (name === undefined) continue;
    if (value === undefined) return scimFault('invalidValue', `${name} must be percent-encoded UTF-8.`);
    if (given.has(name)) return scimFault('invalidValue', `${name} must not be repeated.`);
    given.set(name, value);
  }
  const startIndex = integer(given.get('startIndex') ?? '1');
  const count = integer(given.get('count') ?? String(MAX_PAGE_OF_USERS));
  if (startIndex === undefined) return scimFault('invalidValue', 'startIndex must be an integer.');
  if (count === undefined) return scimFault('invalidValue', 'count must be an integer.');
  const text = given.get('filter');
  const filter = text === undefined ? undefined : readUserFilter(text);
  if (filter?.kind === 'invalid') return filter;
  // RFC 7644 §3.4.2.4: a startIndex below one counts as one, a negative count as zero.
  return {
    kind: 'read',
    filter,
    startIndex: within(startIndex, 1, Number.MAX_SAFE_INTEGER),
    count: within(count, 0, MAX_PAGE_OF_USERS),
  };
}

/** Infinity if the digits exceed the range of a number. */
function integer(text: string): number | undefined {
  return INTEGER.test(text) ? Number(text) : undefined;
}

function within(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most);
}

/** Some providers send the first, others the second (supplement "SCIM"). */
const MEDIA_TYPES = ['application/scim+json', 'application/json'];

/**
 * Reads the JSON message in the request's body (supplement "SCIM", "Token endpoint"). Returns `undefined` if it has
 * already answered the request, or the client has disconnected.
 */
export async function readScimBody(request: Request, response: Response): Promise<JsonObject | undefined> {
  const body = await readTypedBody(request, MEDIA_TYPES, 'The body must be application/scim+json, in UTF-8.');
  if (body.kind === 'aborted') return undefined;
  if (body.kind === 'refused' && body.reason !== 'body_too_large') {
    answerScimError(response, { status: 415, detail: body.sentence, reason: body.reason });
    return undefined;
  }
  const message = body.kind === 'read' ? parseJson(body.bytes) : undefined;
  if (isJsonObject(message)) return message;
  answerInvalid(response, scimFault('invalidSyntax', body.kind === 'refused' ? body.sentence : MALFORMED));
  return undefined;
}

const MALFORMED =
  'The body must be a JSON object in UTF-8, without a member named twice and without nesting deeper than 32.';
