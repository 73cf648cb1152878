/**
 * Reads a request at the authorization endpoint. What names the client and the redirect URI is kept apart from the rest: until
 * the two are known to belong together, a fault is shown on a page, and nothing is sent anywhere (RFC 6749 §4.1.2.1). After that,
 * the first fault of the rest goes to the redirect URI. A parameter that a token request has too is read by the same rule.
 */

import type { AskedAuthorization } from '../../../application/authorization/judge-request.ts';
import { allowed, type Denied, denied, type Outcome } from '../../../application/outcome.ts';
import { MAX_URL_LENGTH } from '../../../domain/address.ts';
import { isChallenge } from '../../../domain/authorization/authorization.ts';
import {
  type AuthorizationRequest,
  MAX_STATE_BYTES,
  readPrompt,
} from '../../../domain/authorization/authorization-request.ts';
import { type OptionalParameters, readOptional } from '../oauth/optional-parameters.ts';
import { missing, mustBe } from '../oauth/parameter-faults.ts';
import { badScope, readScope } from '../oauth/requests.ts';
import { readTarget, targetFault } from '../oauth/target.ts';

/** A parameter of a query or a form. `undefined` for a name or value that is not percent-encoded UTF-8. */
export interface SentParameter {
  readonly name: string | undefined;
  readonly value: string | undefined;
}

/** The parameters that are read. A refusal names no other. */
const READ: readonly string[] = [
  ...['client_id', 'redirect_uri', 'response_type', 'response_mode', 'state', 'code_challenge'],
  ...['code_challenge_method', 'prompt', 'resource', 'audience', 'scope', 'purpose', 'request', 'request_uri'],
];

/** The text of the request that is kept until the person is back. It is then read again, by the same rules. */
export function keptParameters(parameters: readonly SentParameter[]): readonly SentParameter[] {
  return parameters.filter(({ name, value }) => name !== undefined && READ.includes(name) && value !== '');
}

/** No client has this id, and no registration this redirect URI. It stands for one that is malformed, repeated or too long. */
const UNUSABLE = '';

/**
 * @param parameters all of the request, in order. One without a value counts as omitted (RFC 6749 §3.1)
 */
export function readAuthorization(
  parameters: readonly SentParameter[],
  optional: OptionalParameters,
): AskedAuthorization {
  const [clientId, redirectUri, state] = [
    find(parameters, 'client_id'),
    find(parameters, 'redirect_uri'),
    find(parameters, 'state'),
  ];
  const isStateUsable =
    state.kind === 'absent' || (state.kind === 'sent' && Buffer.byteLength(state.value) <= MAX_STATE_BYTES);
  return {
    clientId: clientId.kind === 'sent' && clientId.value.length <= MAX_URL_LENGTH ? clientId.value : UNUSABLE,
    redirectUri: redirectUri.kind === 'unusable' ? UNUSABLE : textOf(redirectUri),
    state: isStateUsable ? textOf(state) : undefined,
    request: isStateUsable ? readRest(parameters, optional) : BAD_STATE,
  };
}

const BAD_STATE = denied('invalid_request', {
  detail: `The parameter state must be sent once, with at most ${MAX_STATE_BYTES} bytes.`,
});

type Found =
  | { readonly kind: 'absent' }
  /** Repeated, or malformed. */
  | { readonly kind: 'unusable' }
  | { readonly kind: 'sent'; readonly value: string };

function find(parameters: readonly SentParameter[], wanted: string): Found {
  const [first, ...more] = parameters.filter(({ name }) => name === wanted);
  if (first === undefined) return { kind: 'absent' };
  if (more.length > 0 || first.value === undefined) return { kind: 'unusable' };
  return first.value === '' ? { kind: 'absent' } : { kind: 'sent', value: first.value };
}

function textOf(found: Found): string | undefined {
  return found.kind === 'sent' ? found.value : undefined;
}

/** The first fault in this order decides the answer. */
function readRest(parameters: readonly SentParameter[], optional: OptionalParameters): Outcome<AuthorizationRequest> {
  const fault = syntaxFault(parameters);
  if (fault !== undefined) return fault;
  const form = new Map(
    parameters.flatMap(({ name = '', value = '' }) => (value === '' ? [] : [[name, value] as const])),
  );
  // OpenID Connect Core 1.0 §6: a request object could say anything else.
  if (form.has('request')) return denied('request_not_supported');
  if (form.has('request_uri')) return denied('request_uri_not_supported');
  if ((form.get('response_mode') ?? 'query') !== 'query') return mustBe('response_mode', 'query');
  const responseType = form.get('response_type');
  if (responseType === undefined) return missing('response_type');
  if (responseType !== 'code') return denied('unsupported_response_type');
  const challenge = form.get('code_challenge');
  // RFC 7636 §4.3: without the method it would be `plain`, which shows the verifier to all who see the request.
  if (challenge === undefined || form.get('code_challenge_method') !== 'S256') return denied('code_challenge_missing');
  if (!isChallenge(challenge)) return mustBe('code_challenge', 'the SHA-256 of the code verifier in base64url');
  const prompt = readPrompt(form.get('prompt') ?? '');
  if (prompt === undefined) return mustBe('prompt', 'none alone, or a list without none');
  const target = readTarget(form, optional);
  if (target.kind === 'denied') return target;
  const targetProblem = target.value === undefined ? undefined : targetFault(target.value);
  if (targetProblem !== undefined) return targetProblem;
  const scopeText = form.get('scope');
  const scope = scopeText === undefined ? undefined : readScope(scopeText);
  if (scopeText !== undefined && scope === undefined) return BAD_SCOPE;
  // The page asks the person for a purpose that must be stated, and is not.
  const added = readOptional(form, {
    ...optional,
    purpose: optional.purpose === 'require' ? 'accept' : optional.purpose,
  });
  if (added.kind === 'denied') return added;
  return allowed({ challenge, audience: target.value?.value, scope, prompt, ...added.value });
}

/** RFC 6749 §4.1.2.1 names a malformed scope among those of `invalid_scope`. At the token endpoint it is `invalid_request`. */
const BAD_SCOPE = denied('scope_intersection_empty', { detail: badScope().denial.detail });

function syntaxFault(parameters: readonly SentParameter[]): Denied | undefined {
  if (parameters.some(({ name, value }) => name === undefined || value === undefined)) {
    return denied('invalid_request', { detail: 'The query is not well-formed in UTF-8.' });
  }
  const names = parameters.map(({ name }) => name);
  const repeated = names.find((name, at) => names.indexOf(name) < at);
  if (repeated === undefined) return undefined;
  // RFC 8707 §2 allows several; a task has one.
  if (repeated === 'resource') return denied('audience_not_allowed', { detail: 'A task has one resource.' });
  const detail = READ.includes(repeated) ? `The parameter ${repeated} is repeated.` : 'A parameter is repeated.';
  return denied('invalid_request', { detail });
}
