/** Validates an operator's access token: a person's token of another audience, with roles. */

import { instantFromSeconds } from '../../domain/instant.ts';
import { type OperatorClaims, type OperatorPerson, operatorIn } from '../../domain/operators/operator.ts';
import { CLOCK_SKEW_SECONDS } from '../../domain/tokens/compact-jws.ts';
import type { Trace } from '../../domain/trace-context.ts';
import { allowed, type Outcome } from '../outcome.ts';
import type { HeldPermit } from '../ports/keys.ts';
import { readSubjectToken, type SubjectValidation } from './validate-subject-token.ts';

type OperatorValidation = SubjectValidation & OperatorClaims;

/** A person without a role is accepted: the route refuses them. */
export async function validateOperator(
  validation: OperatorValidation,
  token: string,
  trace?: Trace,
  permit?: HeldPermit,
): Promise<Outcome<OperatorPerson>> {
  // An operator need not be a person whom agents act for: the token needs no sponsor key.
  const outcome = await readSubjectToken({ ...validation, sponsorKeyClaim: 'sub' }, token, trace, permit);
  if (outcome.kind === 'denied') return outcome;
  const { person, claims } = outcome.value;
  const { expiry } = claims;
  const expiresAt = expiry === undefined ? undefined : instantFromSeconds(expiry + CLOCK_SKEW_SECONDS);
  // An operator at the console, whom an ID token names, and one with an access token are one person.
  return allowed({ ...operatorIn(claims.json, validation, person), expiresAt });
}
