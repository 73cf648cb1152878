/**
 * The query of a listing (RFC 7644 §3.4.2; decisions "SCIM"). Parameters that are not known here are passed over: clients
 * send attribute lists and flags of their own. One that decides what is shown must not be there twice.
 */

import type { UsersListing } from '../../../application/signals/list-users.ts';
import { type ScimFault, scimFault } from '../../../domain/signals/scim-fault.ts';
import { readUserFilter } from '../../../domain/signals/user-filter.ts';

/** Decisions "SCIM". */
export const MAX_PAGE_OF_USERS = 200;
/** Of any size (decisions "SCIM"); the limit on a request's target bounds its digits. */
const INTEGER = /^-?\d+$/;

const KNOWN = ['filter', 'startIndex', 'count'] as const;

/** @param url of the request, as it came */
export function readListQuery(url: string): ({ readonly kind: 'read' } & UsersListing) | ScimFault {
  const given = new Map<string, string>();
  const start = url.indexOf('?');
  for (const part of start < 0 ? [] : url.slice(start + 1).split('&')) {
    const [rawName = '', ...rest] = part.split('=');
    const name = KNOWN.find((known) => known.toLowerCase() === decode(rawName)?.toLowerCase());
    if (name === undefined) continue;
    const value = decode(rest.join('='));
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
  // RFC 7644 §3.4.2.4: less than one is one, a negative count is none.
  return {
    kind: 'read',
    filter,
    startIndex: within(startIndex, 1, Number.MAX_SAFE_INTEGER),
    count: within(count, 0, MAX_PAGE_OF_USERS),
  };
}

/** Infinite where the digits exceed what a number holds. */
function integer(text: string): number | undefined {
  return INTEGER.test(text) ? Number(text) : undefined;
}

function within(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most);
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}
