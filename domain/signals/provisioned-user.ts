/**
 * A user that an identity provider provisions (specification "Provisioning user"), and the rules for changing one. Only
 * identifiers and the active flag are stored.
 */

import { parseSponsorKey, type SponsorKey, type UserId } from '../identifiers.ts';
import type { Instant } from '../instant.ts';
import { type Assignment, MAX_NAME_LENGTH, type PersonAttribute, type ScimFault, scimFault } from './user-attribute.ts';

export interface ProvisionedUser {
  readonly userId: UserId;
  /** The name as the provider sent it. Names are unique without regard to case. */
  readonly userName: string;
  readonly externalId: string | undefined;
  readonly active: boolean;
  /** The person that this user named at its last write. */
  readonly sponsorKey: SponsorKey;
  /** Each change adds one; writing the same values again does not. */
  readonly revision: number;
  readonly createdAt: Instant;
  readonly modifiedAt: Instant;
}

/** The fields that a client can set. */
type UserFields = Pick<ProvisionedUser, 'userName' | 'externalId' | 'active' | 'sponsorKey'>;

/** Fields that are not checked yet. */
export interface UserDraft {
  readonly userName: string | undefined;
  readonly externalId: string | undefined;
  readonly active: boolean;
}

/** A new user is active by default (RFC 7643 §4.1.1 leaves the default to us). */
export const NEW_USER: UserDraft = { userName: undefined, externalId: undefined, active: true };

/**
 * The start values of a replace, for attributes that the request leaves out (RFC 7644 §3.5.1 lets the server choose).
 * `active` stays: a replace without it must not reactivate the user. `userName` and the attribute naming the person
 * stay: the PUT that Okta documents for a deactivation has no `externalId`, and must take effect. Others are cleared.
 */
export function replacedUser({ userName, externalId, active }: ProvisionedUser, person: PersonAttribute): UserDraft {
  return { userName, externalId: person === 'externalId' ? externalId : undefined, active };
}

export function applied(draft: UserDraft, assignments: readonly Assignment[]): UserDraft {
  let fields = draft;
  for (const { attribute, value } of assignments) fields = { ...fields, [attribute]: value };
  return fields;
}

/**
 * @param person the attribute whose value is the sponsor key
 * @param known the stored user. If the setting for `person` has changed, its value may not be a sponsor key any more.
 *   The user can still be deactivated under the stored key: taking authority away must not depend on other settings.
 */
export function judgeUser(
  { userName, externalId, active }: UserDraft,
  person: PersonAttribute,
  known?: Pick<ProvisionedUser, PersonAttribute | 'sponsorKey'>,
): { readonly kind: 'valid'; readonly fields: UserFields } | ScimFault {
  if (userName === undefined) return scimFault('invalidValue', 'A user needs a userName.');
  const named = person === 'userName' ? userName : externalId;
  const fallback = known !== undefined && !active && named === known[person] ? known.sponsorKey : undefined;
  const sponsorKey = (named === undefined ? undefined : parseSponsorKey(named)) ?? fallback;
  if (sponsorKey !== undefined) return { kind: 'valid', fields: { userName, externalId, active, sponsorKey } };
  if (named === undefined) return scimFault('invalidValue', `A user needs ${article(person)}: it names the person.`);
  const rule = `must be 1 to ${MAX_NAME_LENGTH} characters without white space: it names the person.`;
  return scimFault('invalidValue', `${person} ${rule}`);
}

function article(person: PersonAttribute): string {
  return person === 'externalId' ? 'an externalId' : 'a userName';
}

export function isSameUser(one: UserFields, other: UserFields): boolean {
  return (
    one.userName === other.userName &&
    one.externalId === other.externalId &&
    one.active === other.active &&
    one.sponsorKey === other.sponsorKey
  );
}

/**
 * The inactive users for which a person stays blocked although another of their users is active (supplement "SCIM").
 *
 * @param users of one person
 */
export function usersInTheWay(users: readonly ProvisionedUser[]): readonly ProvisionedUser[] {
  return users.some(({ active }) => active) ? users.filter(({ active }) => !active) : [];
}

/** The form in which user names are compared (RFC 7643 §4.1.1: caseExact is false; supplement "SCIM"). */
export function userNameKey(userName: string): string {
  return userName.toLowerCase();
}
