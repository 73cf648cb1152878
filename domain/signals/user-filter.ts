/**
 * The two supported filters (specification "/scim/v2"): `userName eq "…"` and `externalId eq "…"`. Any other filter of
 * RFC 7644 §3.4.2.2 is refused, so a filter is never more than one comparison.
 */

import { parseStrictJson } from '../tokens/strict-json.ts';
import { isName, type PersonAttribute, type ScimFault, scimFault, targetOf } from './user-attribute.ts';

export type UserFilter =
  | { readonly kind: 'equals'; readonly attribute: PersonAttribute; readonly value: string }
  /** No user can have this value. */
  | { readonly kind: 'no_match' };

/** RFC 7644 §3.4.2.2: attribute, operator in any case, and a JSON string up to the end. */
const COMPARISON = /^ *(\S+) +eq +(".*") *$/is;

export function readUserFilter(text: string): UserFilter | ScimFault {
  const [, path = '', quoted = ''] = COMPARISON.exec(text) ?? [];
  const attribute = targetOf(path);
  const value = parseStrictJson(quoted);
  if ((attribute !== 'userName' && attribute !== 'externalId') || typeof value !== 'string') {
    return scimFault('invalidFilter', 'The filter must be userName eq "…" or externalId eq "…".');
  }
  return isName(value) ? { kind: 'equals', attribute, value } : { kind: 'no_match' };
}
