/** Who calls `/admin` and `/audit`: the holder of the admin key, or a person whose access token names their roles. */

import { parseSponsorKey, type SponsorKey } from '../identifiers.ts';
import type { Instant } from '../instant.ts';
import { isTextList, textClaim } from '../tokens/compact-jws.ts';
import { isJsonObject, type Json, type JsonObject, member } from '../tokens/strict-json.ts';

export const operatorRoles = ['viewer', 'auditor', 'registrar', 'responder'] as const;
/** Each role includes what a viewer may do. Several roles add up. */
export type OperatorRole = (typeof operatorRoles)[number];

export interface OperatorPerson {
  readonly kind: 'person';
  /** `iss` and `sub` of the person's access token. */
  readonly issuer: string;
  readonly subject: string;
  /** The value of the sponsor key claim: as whom blocks name this person. `undefined` if the token has no usable one. */
  readonly sponsorKey: string | undefined;
  /** May be empty. */
  readonly roles: readonly OperatorRole[];
  /** From this time the access token is not accepted. `undefined` for a person who came without one. */
  readonly expiresAt?: Instant | undefined;
}

export type Operator = { readonly kind: 'key' } | OperatorPerson;

/** The role by which an operator may do what needs this role. `undefined` if they may not. */
export function roleFor(operator: Operator, needed: OperatorRole): OperatorRole | 'key' | undefined {
  if (operator.kind === 'key') return 'key';
  if (operator.roles.includes(needed)) return needed;
  return needed === 'viewer' ? operator.roles[0] : undefined;
}

/** The claim's value that gives each role. Without one, nobody has the role. */
export type RoleValues = Readonly<Record<OperatorRole, string | undefined>>;

/**
 * The roles in an access token: the values of the claim, compared exactly.
 *
 * @param claim a member of the claims by this name, or else a path of members with dots between them
 */
export function rolesIn(claims: JsonObject, claim: string, values: RoleValues): readonly OperatorRole[] {
  const found = member(claims, claim) ?? claim.split('.').reduce<Json | undefined>(memberOf, claims);
  const held = typeof found === 'string' ? [found] : isTextList(found) ? found : [];
  return operatorRoles.filter((role) => values[role] !== undefined && held.includes(values[role]));
}

/** As whom blocks name an operator. An empty value, or one that names nobody, counts as none. */
export function operatorKeyIn(claims: JsonObject, claim: string): SponsorKey | undefined {
  return parseSponsorKey(textClaim(claims, claim) ?? '');
}

function memberOf(parent: Json | undefined, name: string): Json | undefined {
  return isJsonObject(parent) ? member(parent, name) : undefined;
}
