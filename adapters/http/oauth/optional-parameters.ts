/**
 * What a token request may do beyond the specification, each by its own setting. Off, nothing differs. An optional
 * parameter is written here, with the reader of its value, and in the use case that takes the value.
 */

import { allowed, type Denied, denied, type Outcome } from '../../../application/outcome.ts';
import type { ExchangeRequest } from '../../../application/token/exchange.ts';
import { type PurposeMode, purposeProblem } from '../../../domain/tasks/purpose.ts';
import { isBlank } from '../../../domain/visible.ts';
import type { KnownParameter } from './form.ts';
import { missing } from './parameter-faults.ts';

export interface OptionalParameters {
  /** `Service:Exchange:ClientIsActor`: at an exchange, a `client_assertion` without an `actor_token` is the agent's. */
  readonly clientIsActor: boolean;
  /** `Service:Exchange:AudienceParameter`: `audience` can name the resource. */
  readonly audienceParameter: boolean;
  /** `Service:Tasks:Purpose`: whether an exchange can or must have a `purpose`. */
  readonly purpose: PurposeMode;
  /** `Service:Authorize:ClientId`: a person can start a task. Its client redeems a code, and may have a URL as `client_id`. */
  readonly authorizationCode: boolean;
  /** `Service:Delegation:Enabled`: an exchange can make an offer to another agent (`audience`), and take one up. */
  readonly delegation: boolean;
}

/** Each parameter that a setting adds, and when. Without it, a refusal does not name the parameter. */
const ADDED = {
  audience: ({ audienceParameter, delegation }: OptionalParameters) => audienceParameter || delegation,
  purpose: ({ purpose }: OptionalParameters) => purpose !== 'off',
  code: isCodeRead,
  code_verifier: isCodeRead,
  redirect_uri: isCodeRead,
};

function isCodeRead({ authorizationCode }: OptionalParameters): boolean {
  return authorizationCode;
}

export function addedParameters(optional: OptionalParameters): readonly string[] {
  return Object.entries(ADDED).flatMap(([name, isOn]) => (isOn(optional) ? [name] : []));
}

/** Reads only parameters of a list, so that a refusal can name each of them. A `client_secret` is never read, but refused. */
export interface OAuthForm {
  get(name: Parameter): string | undefined;
  has(name: Parameter | 'client_secret'): boolean;
}
export type Parameter = KnownParameter | keyof typeof ADDED | 'request';

/** The optional parameters of an exchange, as its use case takes them. */
export function readOptional(form: OAuthForm, optional: OptionalParameters): Outcome<Pick<ExchangeRequest, 'purpose'>> {
  const purpose = readPurpose(form.get('purpose'), optional.purpose);
  return purpose.kind === 'denied' ? purpose : allowed({ purpose: purpose.value });
}

/**
 * With `off` the parameter is an unknown one, which is ignored (RFC 6749 §3.2). A blank purpose counts as absent, like an empty
 * one (supplement "Subject tokens").
 */
function readPurpose(purpose: string | undefined, mode: PurposeMode): Outcome<string | undefined> {
  if (mode === 'off' || (purpose === undefined && mode === 'accept')) return allowed(undefined);
  if (purpose === undefined) return missing('purpose');
  const problem = purposeProblem(purpose);
  if (problem !== undefined) return badPurpose(problem);
  if (!isBlank(purpose)) return allowed(purpose);
  return mode === 'accept' ? allowed(undefined) : badPurpose('must show at least one character');
}

function badPurpose(problem: string): Denied {
  return denied('invalid_request', { detail: `The parameter purpose ${problem}.` });
}
