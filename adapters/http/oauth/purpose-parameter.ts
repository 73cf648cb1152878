/** The parameter `purpose` of an exchange (`Service:Tasks:Purpose`). */

import { allowed, type Denied, denied, type Outcome } from '../../../application/outcome.ts';
import { type PurposeMode, purposeProblem } from '../../../domain/tasks/purpose.ts';
import { isBlank } from '../../../domain/visible.ts';
import type { Form } from './form.ts';
import { missing } from './parameter-faults.ts';

export const PURPOSE = 'purpose';

/**
 * With `off` the parameter is an unknown one, which is ignored (RFC 6749 §3.2). A blank purpose counts as absent, like an empty
 * one (supplement "Subject tokens").
 */
export function readPurpose(form: Form, mode: PurposeMode): Outcome<string | undefined> {
  if (mode === 'off') return allowed(undefined);
  const purpose = form.get(PURPOSE);
  if (purpose === undefined && mode === 'accept') return allowed(undefined);
  if (purpose === undefined) return missing(PURPOSE);
  const problem = purposeProblem(purpose);
  if (problem !== undefined) return refused(problem);
  if (!isBlank(purpose)) return allowed(purpose);
  return mode === 'accept' ? allowed(undefined) : refused('must show at least one character');
}

function refused(problem: string): Denied {
  return denied('invalid_request', { detail: `The parameter ${PURPOSE} ${problem}.` });
}
