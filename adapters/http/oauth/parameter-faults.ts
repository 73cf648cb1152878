/** The refusals of a parameter (`invalid_request`). Each names the parameter, and repeats nothing of its value. */

import { type Denied, denied } from '../../../application/outcome.ts';

export function missing(name: string): Denied {
  return denied('invalid_request', { detail: `The parameter ${name} is missing.` });
}

export function mustBe(name: string, value: string): Denied {
  return denied('invalid_request', { detail: `The parameter ${name} must be ${value}.` });
}

export function tooLong(name: string, value: string | undefined, limit: number): Denied | undefined {
  if (value === undefined || value.length <= limit) return undefined;
  return denied('invalid_request', { detail: `The parameter ${name} is over ${limit} characters.` });
}
