/**
 * Who calls `/admin` and `/audit`: the holder of the admin key, or a person whose access token names their roles. What
 * such a request changed, and why, is an act (operator-act.ts).
 */

import { parseSponsorKey, type SponsorKey } from '../identifiers.ts';
import type { Instant } from '../instant.ts';
import { isJsonObject, isTextList, type Json, type JsonObject, member, textMember } from '../tokens/strict-json.ts';

export const operatorRoles = ['viewer', 'auditor', 'registrar', 'responder'] as const;
/** Each role includes what a viewer may do. Several roles add up. */
export type OperatorRole = (typeof operatorRoles)[number];

export interface OperatorPerson {
  readonly kind: 'person';
  /** The issuer of the person's provider, as in their ID tokens, and the `sub` of their token. */
  readonly issuer: string;
  readonly subject: string;
  /** Blocks name the person by it. `undefined` if the token does not have the claim, or its value is no sponsor key. */
  readonly sponsorKey: string | undefined;
  /** May be empty. */
  readonly roles: readonly OperatorRole[];
  /** From this time the access token is not accepted. `undefined` for a person who came without one. */
  readonly expiresAt?: Instant | undefined;
}

export type Operator = { readonly kind: 'key' } | OperatorPerson;

/** Whether the operator is certainly not the person whom blocks name by the key: a token without the claim does not say. */
export function isOther(
  operator: OperatorPerson,
  key: SponsorKey,
): operator is OperatorPerson & { readonly sponsorKey: string } {
  const { subject, sponsorKey } = operator;
  return sponsorKey !== undefined && sponsorKey !== key && subject !== key;
}

/** The operator whose request to lift a block awaits a second operator's. */
export interface FirstOperator {
  readonly issuer: string;
  readonly subject: string;
  /** The operator's sponsor key. */
  readonly operatorKey: string;
}

/** Whether two requests are of one person. A provider may give a person a different `sub` for each client. */
export function isSamePerson(operator: OperatorPerson, first: FirstOperator): boolean {
  const { issuer, subject, sponsorKey } = operator;
  return (issuer === first.issuer && subject === first.subject) || sponsorKey === first.operatorKey;
}

/** The role by which an operator may do what needs this role. `undefined` if they may not. */
export function roleFor(operator: Operator, needed: OperatorRole): OperatorRole | 'key' | undefined {
  if (operator.kind === 'key') return 'key';
  if (operator.roles.includes(needed)) return needed;
  return needed === 'viewer' ? operator.roles[0] : undefined;
}

/** The claim's value that gives each role. Without one, no operator has the role. */
export type RoleValues = Readonly<Record<OperatorRole, string | undefined>>;

/**
 * The roles in an access token: the values of the claim, compared exactly.
 *
 * @param claim a member of the claims by this name, or else a path of members with dots between them
 */
function rolesIn(claims: JsonObject, claim: string, values: RoleValues): readonly OperatorRole[] {
  const found = member(claims, claim) ?? claim.split('.').reduce<Json | undefined>(memberOf, claims);
  const held = typeof found === 'string' ? [found] : isTextList(found) ? found : [];
  return operatorRoles.filter((role) => values[role] !== undefined && held.includes(values[role]));
}

/** The operator's sponsor key. `undefined` if the claim is absent, or its value cannot be a sponsor key. */
function operatorKeyIn(claims: JsonObject, claim: string): SponsorKey | undefined {
  return parseSponsorKey(textMember(claims, claim) ?? '');
}

/** How the claims of a token say who an operator is. */
export interface OperatorClaims {
  /** `Service:Operators:RoleClaim`. */
  readonly roleClaim: string;
  /** `Service:Operators:Roles`. */
  readonly roles: RoleValues;
  /** `Service:UpstreamIdp:SponsorKeyClaim`: as whom blocks name the operator. */
  readonly sponsorKeyClaim: string;
}

/** The operator whom a token of the provider names. */
export function operatorIn(
  claims: JsonObject,
  { roleClaim, roles, sponsorKeyClaim }: OperatorClaims,
  { issuer, subject }: Pick<OperatorPerson, 'issuer' | 'subject'>,
): OperatorPerson {
  const sponsorKey = operatorKeyIn(claims, sponsorKeyClaim);
  return { kind: 'person', issuer, subject, sponsorKey, roles: rolesIn(claims, roleClaim, roles) };
}

function memberOf(parent: Json | undefined, name: string): Json | undefined {
  return isJsonObject(parent) ? member(parent, name) : undefined;
}
