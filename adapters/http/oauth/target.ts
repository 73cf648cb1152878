/**
 * The resource that a token request names (RFC 8707 §2). With `Service:Exchange:AudienceParameter` also `audience`
 * (RFC 8693 §2.1) names it: most libraries send that parameter. Both parameters allow a list there. Here each is
 * accepted once, because a task has one audience.
 */

import { allowed, type Denial, type Denied, denied, type Outcome } from '../../../application/outcome.ts';
import type { DenialReason } from '../../../domain/denial.ts';
import type { OAuthForm, OptionalParameters } from './optional-parameters.ts';
import { tooLong } from './parameter-faults.ts';

export interface Target {
  readonly parameter: 'resource' | 'audience';
  readonly value: string;
}

/** Longer than a URL that every server accepts. */
const MAX_RESOURCE = 2048;
/** A resource without white space and control characters: no registration contains one with them. */
const RESOURCE = /^[^\s\p{Cc}]+$/u;

/** `undefined` if the request names no resource. */
export function readTarget(
  form: OAuthForm,
  { audienceParameter }: Pick<OptionalParameters, 'audienceParameter'>,
): Outcome<Target | undefined> {
  const resource = form.get('resource');
  const audience = audienceParameter ? form.get('audience') : undefined;
  if (resource !== undefined) {
    if (audience !== undefined && audience !== resource) {
      return denied('invalid_request', { detail: 'The parameters resource and audience must be equal.' });
    }
    return allowed({ parameter: 'resource', value: resource });
  }
  return allowed(audience === undefined ? undefined : { parameter: 'audience', value: audience });
}

export function targetFault({ parameter, value }: Target): Denied | undefined {
  if (!RESOURCE.test(value)) {
    return denied('invalid_request', { detail: `The parameter ${parameter} holds white space or control characters.` });
  }
  return tooLong(parameter, value, MAX_RESOURCE);
}

/** The sentences of `invalid_target` for a request that sent `audience` and no `resource`. */
const AUDIENCE_SENTENCES: Partial<Record<DenialReason, string>> = {
  audience_not_allowed: 'The agent may not act at the resource that the parameter audience names.',
  audience_mismatch: "The resource that the parameter audience names is not the task's.",
};

/** The denial, with a sentence that names the parameter which the client sent. */
export function namingParameter(denial: Denial, form: OAuthForm, optional: OptionalParameters): Denial {
  const target = readTarget(form, optional);
  if (target.kind === 'denied' || target.value?.parameter !== 'audience') return denial;
  const detail = AUDIENCE_SENTENCES[denial.reason];
  return detail === undefined ? denial : { ...denial, detail };
}
