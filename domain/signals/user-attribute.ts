/**
 * The attributes of a provisioned user that this service keeps, how a client may name them (RFC 7643 §2.1: in any case;
 * RFC 7644 §3.10: with their schema's URN before them) and which values they take (specification "Provisioning user").
 */

import type { Json } from '../tokens/strict-json.ts';
import { type ScimFault, scimFault } from './scim-fault.ts';

export const USER_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:User';

export const userAttributes = ['userName', 'externalId', 'active'] as const;
export type UserAttribute = (typeof userAttributes)[number];

/** Which of them names the person (`Service:Scim:SponsorKeyAttribute`). */
export type PersonAttribute = Exclude<UserAttribute, 'active'>;

/** As long as a sponsor key can be, which either of the two may have to be. */
export const MAX_NAME_LENGTH = 256;
const CONTROL = /\p{Cc}/u;

/** A kept attribute and the value it gets. An `externalId` of `undefined` is one that is taken away. */
export type Assignment =
  | { readonly attribute: 'userName'; readonly value: string }
  | { readonly attribute: 'externalId'; readonly value: string | undefined }
  | { readonly attribute: 'active'; readonly value: boolean };

/**
 * What a path, or the name of a member, is about. `whole`: the user itself, named by its schema. `other`: nothing that
 * is kept. `unreadable`: something of what is kept, such as a part of an attribute that has no parts: to pass it over
 * could lose a deactivation.
 */
export type PathTarget = UserAttribute | 'whole' | 'other' | 'unreadable';

const ATTRIBUTE_NAME = /^[a-z][$\w-]*/i;

export function targetOf(path: string): PathTarget {
  if (sameName(path, USER_SCHEMA)) return 'whole';
  const trimmed = path.trim();
  // What a filter in brackets compares with may hold anything, colons too.
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

/** @param person the attribute that a user cannot do without, besides `userName` and `active` */
export function readAssignment(attribute: UserAttribute, value: Json, person: PersonAttribute): Assignment | ScimFault {
  switch (attribute) {
    case 'userName':
      return isName(value) ? { attribute, value } : scimFault('invalidValue', USER_NAME);
    case 'externalId':
      // RFC 7643 §2.5: null is the same as no value.
      if (value === null) return withoutValue(attribute, person);
      return isName(value) ? { attribute, value } : scimFault('invalidValue', EXTERNAL_ID);
    case 'active': {
      const active = readActive(value);
      return active === undefined ? scimFault('invalidValue', ACTIVE) : { attribute, value: active };
    }
  }
}

/** Taking a value away: only from what a user can do without (decisions "SCIM"). */
export function withoutValue(attribute: UserAttribute, person: PersonAttribute): Assignment | ScimFault {
  return attribute === 'externalId' && person !== 'externalId'
    ? { attribute, value: undefined }
    : scimFault('invalidValue', `A user cannot be without ${attribute} here.`);
}

const NAME_RULE = `must be a string of 1 to ${MAX_NAME_LENGTH} characters without control characters, not blank.`;
const USER_NAME = `userName ${NAME_RULE}`;
const EXTERNAL_ID = `externalId ${NAME_RULE}`;
const ACTIVE = 'active must be true or false.';

/** Whether it could be the `userName` or `externalId` of a user. */
export function isName(value: Json): value is string {
  return (
    typeof value === 'string' &&
    value.length <= MAX_NAME_LENGTH &&
    value.isWellFormed() &&
    /\S/.test(value) &&
    !CONTROL.test(value)
  );
}

/** Decisions "SCIM": Entra ID sends `"True"` and `"False"`. */
function readActive(value: Json): boolean | undefined {
  if (typeof value === 'boolean') return value;
  if (typeof value !== 'string') return undefined;
  return sameName(value, 'true') ? true : sameName(value, 'false') ? false : undefined;
}
