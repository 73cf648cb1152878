/** Who calls `/admin` and `/audit`: the holder of the admin key, or a person whose access token names their roles. */

export const operatorRoles = ['viewer', 'auditor', 'registrar', 'responder'] as const;
/** Each role includes what a viewer may do. Several roles add up. */
export type OperatorRole = (typeof operatorRoles)[number];

export interface OperatorPerson {
  readonly kind: 'person';
  /** `iss` and `sub` of the person's access token. */
  readonly issuer: string;
  readonly subject: string;
  /** The value of the sponsor key claim: as whom blocks name this person. */
  readonly sponsorKey: string | undefined;
  /** May be empty. */
  readonly roles: readonly OperatorRole[];
}

export type Operator = { readonly kind: 'key' } | OperatorPerson;

/** The role by which an operator may do what needs this role. `undefined` if they may not. */
export function roleFor(operator: Operator, needed: OperatorRole): OperatorRole | 'key' | undefined {
  if (operator.kind === 'key') return 'key';
  return operator.roles.find((role) => role === needed || needed === 'viewer');
}
