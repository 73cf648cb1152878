/** Where an agent's keys come from: exactly one of `jwks_uri` and `jwks` (specification "Agent registration", rules 1-3). */

import { type FieldError, fieldErrors } from '../field-error.ts';
import { jwksUriProblem } from './address.ts';
import type { AgentKeySource } from './agent.ts';
import { checkJwkSet } from './key-set.ts';
import { fieldNames, type RegistrationDraft } from './registration-draft.ts';

export type KeySourceVerdict =
  | { readonly kind: 'usable'; readonly source: AgentKeySource }
  | { readonly kind: 'refused'; readonly errors: readonly FieldError[] };

const EXACTLY_ONE = 'Exactly one of jwks_uri and jwks must be set.';

/** Judges the structure of inline keys. The AgentKeys port tests separately whether each key can be imported. */
export function judgeKeySource(
  { jwksUri, jwks }: Pick<RegistrationDraft, 'jwksUri' | 'jwks'>,
  issuer: string,
): KeySourceVerdict {
  if ((jwksUri === undefined) === (jwks === undefined)) {
    return refused([...fieldErrors(fieldNames.jwksUri, EXACTLY_ONE), ...fieldErrors(fieldNames.jwks, EXACTLY_ONE)]);
  }
  if (jwksUri !== undefined) {
    const problem = jwksUriProblem(jwksUri, issuer);
    return problem === undefined
      ? { kind: 'usable', source: { kind: 'remote', uri: jwksUri } }
      : refused(fieldErrors(fieldNames.jwksUri, problem));
  }
  const verdict = checkJwkSet(jwks);
  return verdict.kind === 'valid'
    ? { kind: 'usable', source: { kind: 'inline', jwks: verdict.jwks } }
    : refused(fieldErrors(fieldNames.jwks, ...verdict.problems));
}

function refused(errors: readonly FieldError[]): KeySourceVerdict {
  return { kind: 'refused', errors };
}
