/** Validates an access token for `/me`: a subject token of another audience, which no agent is meant to hold. */

import type { MePerson } from '../../domain/sponsors/me-person.ts';
import type { Trace } from '../../domain/trace-context.ts';
import { allowed, type Outcome } from '../outcome.ts';
import type { HeldPermit } from '../ports/keys.ts';
import { type SubjectValidation, validateSubjectToken } from './validate-subject-token.ts';

export async function validateMeToken(
  validation: SubjectValidation,
  token: string,
  trace?: Trace,
  permit?: HeldPermit,
): Promise<Outcome<MePerson>> {
  const outcome = await validateSubjectToken(validation, token, trace, permit);
  if (outcome.kind === 'denied') return outcome;
  const { subject, sponsorKey, sessionId, authenticatedAt } = outcome.value;
  return allowed({ subject, sponsorKey, sessionId, authenticatedAt, by: 'token' });
}
