/**
 * Turns a form into the typed request of a use case, and checks required parameters and limits (specification "POST
 * /oauth2/token", "POST /oauth2/introspect", "POST /oauth2/revoke"; supplement "Token endpoint"). A client without an
 * assertion is not authenticated, which is no malformed request. So the assertion passes as `undefined`.
 */

import type { ApprovalQuestion } from '../../../application/approvals/ask.ts';
import { allowed, type Denied, denied, type Outcome } from '../../../application/outcome.ts';
import type { ExchangeRequest } from '../../../application/token/exchange.ts';
import type { RefreshRequest } from '../../../application/token/refresh.ts';
import type { RevocationRequest } from '../../../application/token/revoke.ts';
import { parseScope, type Scope } from '../../../domain/scope.ts';
import type { Form } from './form.ts';
import type { OptionalParameters } from './optional-parameters.ts';
import { missing, mustBe, tooLong } from './parameter-faults.ts';
import { readPurpose } from './purpose-parameter.ts';
import { readTarget, type Target, targetFault } from './target.ts';

export const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
export const REFRESH_TOKEN = 'refresh_token';
export const ACCESS_TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:access_token';
const JWT_TYPE = 'urn:ietf:params:oauth:token-type:jwt';
const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** The maximum length of a subject token (supplement "Subject tokens"). */
export const MAX_SUBJECT_TOKEN = 16 * 1024;
const MAX_ASSERTION = 8 * 1024;
/** Room for every scope of a large registration. */
const MAX_SCOPE = 8192;
/** Twice the maximum length of an agent_id (128). A slightly longer one is refused as unknown, not as too long. */
const MAX_CLIENT_ID = 256;

type TokenRequest =
  | { readonly kind: 'exchange'; readonly request: ExchangeRequest }
  | { readonly kind: 'refresh'; readonly request: RefreshRequest };

export function parseTokenRequest(form: Form, optional: OptionalParameters): Outcome<TokenRequest> {
  const grantType = form.get('grant_type');
  if (grantType === undefined) return missing('grant_type');
  switch (grantType) {
    case TOKEN_EXCHANGE:
      return parseExchange(form, optional);
    case REFRESH_TOKEN:
      return parseRefresh(form, optional);
    default:
      return denied('unsupported_grant_type');
  }
}

function parseExchange(form: Form, optional: OptionalParameters): Outcome<TokenRequest> {
  const subjectToken = form.get('subject_token');
  const scopeText = form.get('scope');
  // Some libraries always send a client_assertion. Without the setting, only an actor_token authenticates an exchange.
  const clientIsActor = form.has('client_assertion') && !form.has('actor_token');
  if (clientIsActor && !optional.clientIsActor) return missing('actor_token');
  if (subjectToken === undefined) return missing('subject_token');
  if (form.get('subject_token_type') !== ACCESS_TOKEN_TYPE) return mustBe('subject_token_type', ACCESS_TOKEN_TYPE);
  const actorType = form.get('actor_token_type');
  if (form.has('actor_token') ? actorType !== JWT_TYPE : actorType !== undefined && actorType !== JWT_TYPE) {
    return mustBe('actor_token_type', JWT_TYPE);
  }
  const requestedType = form.get('requested_token_type');
  if (requestedType !== undefined && requestedType !== ACCESS_TOKEN_TYPE) {
    return mustBe('requested_token_type', ACCESS_TOKEN_TYPE);
  }
  const target = readTarget(form, optional);
  if (target.kind === 'denied') return target;
  if (target.value === undefined) return missing('resource');
  if (scopeText === undefined) return missing('scope');
  const scope = readScope(scopeText);
  const fault =
    tooLong('subject_token', subjectToken, MAX_SUBJECT_TOKEN) ??
    tooLong('actor_token', form.get('actor_token'), MAX_ASSERTION) ??
    clientFault(form) ??
    commonFault(form, target.value);
  if (fault !== undefined) return fault;
  if (scope === undefined) return badScope();
  const purpose = readPurpose(form, optional.purpose);
  if (purpose.kind === 'denied') return purpose;
  return allowed({
    kind: 'exchange',
    request: {
      subjectToken,
      actorToken: form.get(clientIsActor ? 'client_assertion' : 'actor_token'),
      clientAssertion: clientIsActor ? undefined : form.get('client_assertion'),
      clientId: form.get('client_id'),
      resource: target.value.value,
      scope,
      purpose: purpose.value,
    },
  });
}

function parseRefresh(form: Form, optional: OptionalParameters): Outcome<TokenRequest> {
  const refreshToken = form.get('refresh_token');
  const scopeText = form.get('scope');
  if (refreshToken === undefined) return missing('refresh_token');
  const target = readTarget(form, optional);
  if (target.kind === 'denied') return target;
  // A library's own refresh names no resource: then the task's is meant.
  if (target.value === undefined && !optional.audienceParameter) return missing('resource');
  const fault = clientFault(form) ?? commonFault(form, target.value);
  if (fault !== undefined) return fault;
  const scope = scopeText === undefined ? undefined : readScope(scopeText);
  if (scopeText !== undefined && scope === undefined) return badScope();
  return allowed({
    kind: 'refresh',
    request: {
      refreshToken,
      resource: target.value?.value,
      scope,
      clientAssertion: form.get('client_assertion'),
      clientId: form.get('client_id'),
    },
  });
}

export function parseIntrospection(form: Form): Outcome<string> {
  const token = form.get('token');
  return token === undefined ? missing('token') : allowed(token);
}

/** The request object is not examined here: all that is wrong with it has one sentence. */
export function parseApproval(form: Form): Outcome<ApprovalQuestion> {
  const [token, request] = [form.get('token'), form.get('request')];
  if (token === undefined) return missing('token');
  return request === undefined ? missing('request') : allowed({ token, request });
}

export function parseRevocation(form: Form): Outcome<RevocationRequest> {
  const token = form.get('token');
  const hint = form.get('token_type_hint');
  if (token === undefined) return missing('token');
  if (hint !== undefined && hint !== 'access_token' && hint !== 'refresh_token')
    return denied('unsupported_token_type');
  const fault = clientFault(form) ?? tooLong('client_id', form.get('client_id'), MAX_CLIENT_ID);
  if (fault !== undefined) return fault;
  return allowed({ token, clientAssertion: form.get('client_assertion'), clientId: form.get('client_id') });
}

/** Parses the scope names. `undefined` if the text is too long or empty, or a name is no scope-token (RFC 6749 §3.3). */
function readScope(text: string): Scope | undefined {
  if (text.length > MAX_SCOPE) return undefined;
  const scope = parseScope(text);
  return scope === undefined || scope.length === 0 ? undefined : scope;
}

function clientFault(form: Form): Denied | undefined {
  const type = form.get('client_assertion_type');
  if (form.has('client_assertion') ? type !== JWT_BEARER : type !== undefined && type !== JWT_BEARER) {
    return mustBe('client_assertion_type', JWT_BEARER);
  }
  return tooLong('client_assertion', form.get('client_assertion'), MAX_ASSERTION);
}

function commonFault(form: Form, target: Target | undefined): Denied | undefined {
  const fault = target === undefined ? undefined : targetFault(target);
  return fault ?? tooLong('client_id', form.get('client_id'), MAX_CLIENT_ID);
}

function badScope(): Denied {
  return denied('invalid_request', {
    detail: `The parameter scope must be 1 to ${MAX_SCOPE} characters of scope names separated by spaces.`,
  });
}
