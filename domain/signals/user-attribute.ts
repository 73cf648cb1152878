/**
 * The stored attributes of a provisioned user, their spellings and their values (specification "Provisioning user").
 * Clients write names in any case (RFC 7643 §2.1), with or without the schema's URN as a prefix (RFC 7644 §3.10).
 */

import { hasControl } from '../control-characters.ts';
import type { Json } from '../tokens/strict-json.ts';

export type ScimErrorCode = 'invalidValue' | 'invalidSyntax' | 'invalidFilter';

/** The fault of a SCIM request (RFC 7644 §3.12): its code, and a fixed sentence that repeats nothing that was sent. */
export interface ScimFault {
  readonly kind: 'invalid';
  readonly code: ScimErrorCode;
  readonly sentence: string;
}

export function scimFault(code: ScimErrorCode, sentence: string): ScimFault {
  return { kind: 'invalid', code, sentence };
}

export const USER_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:User';

export const userAttributes = ['userName', 'externalId', 'active'] as const;
export type UserAttribute = (typeof userAttributes)[number];

/** The attribute whose value is the sponsor key (`Service:Scim:SponsorKeyAttribute`). */
export type PersonAttribute = Exclude<UserAttribute, 'active'>;

/** The longest sponsor key: either attribute may have to hold one. */
export const MAX_NAME_LENGTH = 256;

/** A stored attribute and its new value. `undefined` removes the `externalId`. */
export type Assignment =
  | { readonly attribute: 'userName'; readonly value: string }
  | { readonly attribute: 'externalId'; readonly value: string | undefined }
  | { readonly attribute: 'active'; readonly value: boolean };

/**
 * The target of a path or member name. `whole`: the user itself, named by its schema. `other`: an attribute that is not
 * stored. `unreadable`: a stored attribute with something more, such as a sub-attribute. It is refused, not ignored:
 * ignoring it could lose a deactivation.
 */
type PathTarget = UserAttribute | 'whole' | 'other' | 'unreadable';

const ATTRIBUTE_NAME = /^[a-z][$\w-]*/i;

export function targetOf(path: string): PathTarget {
  if (sameName(path, USER_SCHEMA)) return 'whole';
  const trimmed = path.trim();
  // Look for the colon only before the bracket: the value in a filter may contain colons.
  const [head = ''] = trimmed.split('[', 1);
  const colon = head.lastIndexOf(':');
  if (colon >= 0 && !sameName(head.slice(0, colon), USER_SCHEMA)) return 'other';
  const local = trimmed.slice(colon + 1);
  const [name = ''] = ATTRIBUTE_NAME.exec(local) ?? [];
  const attribute = userAttributes.find((kept) => sameName(kept, name));
  if (attribute === undefined) return 'other';
  return local === name && trimmed === path ? attribute : 'unreadable';
}

export function sameName(one: string, other: string): boolean {
  return one.length === other.length && one.toLowerCase() === other.toLowerCase();
}

/**
 * RFC 7643 §2.5: null means no value. For an attribute that every user must have, it counts as left out (supplement
 * "SCIM"), so that a deactivation beside it takes effect. The result is then `undefined`.
 *
 * @param person the attribute that, besides `userName` and `active`, every user must have
 */
export function readAssignment(
  attribute: UserAttribute,
  value: Json,
  person: PersonAttribute,
): Assignment | ScimFault | undefined {
  switch (attribute) {
    case 'userName':
      if (value === null) return undefined;
      return isName(value) ? { attribute, value } : scimFault('invalidValue', USER_NAME);
    case 'externalId':
      if (value === null) return person === attribute ? undefined : { attribute, value: undefined };
      return isName(value) ? { attribute, value } : scimFault('invalidValue', EXTERNAL_ID);
    case 'active': {
      const active = readActive(value);
      return active === undefined ? scimFault('invalidValue', ACTIVE) : { attribute, value: active };
    }
  }
}

/** Removes a value; refused for a required attribute (supplement "SCIM"). */
export function withoutValue(attribute: UserAttribute, person: PersonAttribute): Assignment | ScimFault {
  return attribute === 'externalId' && person !== 'externalId'
    ? { attribute, value: undefined }
    : scimFault('invalidValue', `A user cannot be without ${attribute} here.`);
}

const NAME_RULE = `must be a string of 1 to ${MAX_NAME_LENGTH} characters without control characters, not blank.`;
const USER_NAME = `userName ${NAME_RULE}`;
const EXTERNAL_ID = `externalId ${NAME_RULE}`;
const ACTIVE = 'active must be true or false.';

/** Whether the value is valid as a `userName` or an `externalId`. */
export function isName(value: Json): value is string {
  return (
    typeof value === 'string' &&
    value.length <= MAX_NAME_LENGTH &&
    value.isWellFormed() &&
    /\S/.test(value) &&
    !hasControl(value)
  );
}

/** Supplement "SCIM": Entra ID sends `"True"` and `"False"`. */
function readActive(value: Json): boolean | undefined {
  if (typeof value === 'boolean') return value;
  if (typeof value !== 'string') return undefined;
  return sameName(value, 'true') ? true : sameName(value, 'false') ? false : undefined;
}
