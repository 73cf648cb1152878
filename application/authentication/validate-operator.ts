/** Validates an operator's access token: a person's token of another audience, with roles. */

import { instantFromSeconds } from '../../domain/instant.ts';
import { type OperatorPerson, operatorKeyIn, type RoleValues, rolesIn } from '../../domain/operators/operator.ts';
import { CLOCK_SKEW_SECONDS } from '../../domain/tokens/compact-jws.ts';
import type { Trace } from '../../domain/trace-context.ts';
import { allowed, type Outcome } from '../outcome.ts';
import { readSubjectToken, type SubjectValidation } from './validate-subject-token.ts';

export interface OperatorValidation extends SubjectValidation {
  /** `Service:Operators:RoleClaim`. */
  readonly roleClaim: string;
  /** `Service:Operators:Roles`. */
  readonly roles: RoleValues;
}

/** A person without a role is accepted: the route refuses them. */
export async function validateOperator(
  validation: OperatorValidation,
  token: string,
  trace?: Trace,
): Promise<Outcome<OperatorPerson>> {
  // An operator need not be a person whom agents act for: the token needs no sponsor key.
  const outcome = await readSubjectToken({ ...validation, sponsorKeyClaim: 'sub' }, token, trace);
  if (outcome.kind === 'denied') return outcome;
  const { person, claims } = outcome.value;
  const sponsorKey = operatorKeyIn(claims.json, validation.sponsorKeyClaim);
  const roles = rolesIn(claims.json, validation.roleClaim, validation.roles);
  const { expiry } = claims;
  const expiresAt = expiry === undefined ? undefined : instantFromSeconds(expiry + CLOCK_SKEW_SECONDS);
  // An operator at the console, whom an ID token names, and one with an access token are one person.
  const { issuer, subject } = person;
  return allowed({ kind: 'person', issuer, subject, sponsorKey, roles, expiresAt });
}
