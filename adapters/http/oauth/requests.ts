/**
 * Turns a form into the typed request of a use case, and checks required parameters and limits (specification "POST
 * /oauth2/token", "POST /oauth2/introspect", "POST /oauth2/revoke"; supplement "Token endpoint"). A client without an
 * assertion is not authenticated, which is no malformed request. So the assertion passes as `undefined`.
 */

import type { ApprovalQuestion } from '../../../application/approvals/ask.ts';
import { allowed, type Denied, denied, type Outcome } from '../../../application/outcome.ts';
import type { ExchangeRequest } from '../../../application/token/exchange.ts';
import type { HandOverRequest } from '../../../application/token/hand-over.ts';
import type { CodeRequest } from '../../../application/token/redeem.ts';
import type { RefreshRequest } from '../../../application/token/refresh.ts';
import type { RevocationRequest } from '../../../application/token/revoke.ts';
import type { TakeUpRequest } from '../../../application/token/take-up.ts';
import { MAX_URL_LENGTH } from '../../../domain/address.ts';
import { looksLikeOffer } from '../../../domain/delegation/offer.ts';
import { AGENT_PREFIX, parseAgentSubject } from '../../../domain/identifiers.ts';
import { parseScope, type Scope } from '../../../domain/scope.ts';
import { type OAuthForm, type OptionalParameters, readOptional } from './optional-parameters.ts';
import { missing, mustBe, tooLong } from './parameter-faults.ts';
import { readTarget, type Target, targetFault } from './target.ts';

export const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
export const REFRESH_TOKEN = 'refresh_token';
export const AUTHORIZATION_CODE = 'authorization_code';
export const ACCESS_TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:access_token';
const REFRESH_TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:refresh_token';
const JWT_TYPE = 'urn:ietf:params:oauth:token-type:jwt';
const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** The maximum length of a subject token (supplement "Subject tokens"). */
export const MAX_SUBJECT_TOKEN = 16 * 1024;
const MAX_ASSERTION = 8 * 1024;
/** Room for every scope of a large registration. */
const MAX_SCOPE = 8192;
/** Twice the maximum length of an agent_id (128). A slightly longer one is refused as unknown, not as too long. */
const MAX_CLIENT_ID = 256;
/** Longer than every code of this service. */
const MAX_CODE = 256;

const CODE_GRANTS = 'The grant type must be authorization_code, token exchange or refresh_token.';

export type TokenRequest = {
  /** `issued_token_type` of the answer. A task token is an access token and a JWT: the name that the request asks for. */
  readonly issuedType: string;
} & (
  | { readonly kind: 'exchange'; readonly request: ExchangeRequest }
  | { readonly kind: 'refresh'; readonly request: RefreshRequest }
  | { readonly kind: 'code'; readonly request: CodeRequest }
  | { readonly kind: 'hand_over'; readonly request: HandOverRequest }
  | { readonly kind: 'take_up'; readonly request: TakeUpRequest }
);

export function parseTokenRequest(form: OAuthForm, optional: OptionalParameters): Outcome<TokenRequest> {
  const grantType = form.get('grant_type');
  if (grantType === undefined) return missing('grant_type');
  switch (grantType) {
    case TOKEN_EXCHANGE:
      return parseExchange(form, optional);
    case REFRESH_TOKEN:
      return parseRefresh(form, optional);
    case AUTHORIZATION_CODE:
      return optional.authorizationCode ? parseCode(form, optional) : denied('unsupported_grant_type');
    default:
      return denied('unsupported_grant_type', optional.authorizationCode ? { detail: CODE_GRANTS } : {});
  }
}

function parseExchange(form: OAuthForm, optional: OptionalParameters): Outcome<TokenRequest> {
  // Some libraries always send a client_assertion. Without the setting, only an actor_token authenticates an exchange.
  const clientIsActor = form.has('client_assertion') && !form.has('actor_token');
  if (clientIsActor && !optional.clientIsActor) return missing('actor_token');
  const subject = readSubject(form, optional);
  if (subject.kind === 'denied') return subject;
  const { kind, token, issuedTypes } = subject.value;
  const actorType = form.get('actor_token_type');
  if (form.has('actor_token') ? actorType !== JWT_TYPE : actorType !== undefined && actorType !== JWT_TYPE) {
    return mustBe('actor_token_type', JWT_TYPE);
  }
  const issuedType = form.get('requested_token_type') ?? ACCESS_TOKEN_TYPE;
  if (!issuedTypes.includes(issuedType)) return mustBe('requested_token_type', issuedTypes.join(' or '));
  // The audience of an offer is the agent that it is for.
  const target = readTarget(form, { audienceParameter: optional.audienceParameter && kind !== 'hand_over' });
  if (target.kind === 'denied') return target;
  if (target.value === undefined) return missing('resource');
  const scopeText = form.get('scope');
  if (scopeText === undefined) return missing('scope');
  const scope = readScope(scopeText);
  const fault =
    tooLong('subject_token', token, MAX_SUBJECT_TOKEN) ??
    tooLong('actor_token', form.get('actor_token'), MAX_ASSERTION) ??
    clientFault(form) ??
    commonFault(form, target.value, optional);
  if (fault !== undefined) return fault;
  if (scope === undefined) return badScope();
  const common = {
    actorToken: form.get(clientIsActor ? 'client_assertion' : 'actor_token'),
    clientAssertion: clientIsActor ? undefined : form.get('client_assertion'),
    clientId: form.get('client_id'),
    resource: target.value.value,
    scope,
  };
  if (kind === 'hand_over') return readHandOver(form, { ...common, grant: token });
  const added = readOptional(form, optional);
  if (added.kind === 'denied') return added;
  return allowed(
    kind === 'take_up'
      ? { kind, issuedType, request: { ...common, offer: token, ...added.value } }
      : { kind, issuedType, request: { ...common, subjectToken: token, ...added.value } },
  );
}

interface Subject {
  readonly kind: 'exchange' | 'hand_over' | 'take_up';
  readonly token: string;
  /** The values that `requested_token_type` can have. */
  readonly issuedTypes: readonly string[];
}

/** The `subject_token`. Its type says what it is: a person's access token, or with `delegation` a task grant or an offer. */
function readSubject(form: OAuthForm, optional: OptionalParameters): Outcome<Subject> {
  const token = form.get('subject_token');
  if (token === undefined) return missing('subject_token');
  const type = form.get('subject_token_type') ?? '';
  const types = tokenTypes(optional);
  if (optional.delegation && type === REFRESH_TOKEN_TYPE) {
    return allowed({ kind: 'hand_over', token, issuedTypes: [JWT_TYPE] });
  }
  // A person's access token may be called a JWT too.
  const isOffer = optional.delegation && type === JWT_TYPE && (looksLikeOffer(token) || !types.includes(JWT_TYPE));
  if (isOffer) return allowed({ kind: 'take_up', token, issuedTypes: types });
  if (types.includes(type)) return allowed({ kind: 'exchange', token, issuedTypes: types });
  const all = optional.delegation ? [...new Set([...types, JWT_TYPE, REFRESH_TOKEN_TYPE])] : types;
  return mustBe('subject_token_type', all.join(' or '));
}

function readHandOver(form: OAuthForm, common: Omit<HandOverRequest, 'child'>): Outcome<TokenRequest> {
  const audience = form.get('audience');
  if (audience === undefined) return missing('audience');
  const child = parseAgentSubject(audience);
  if (child === undefined) {
    return denied('invalid_request', { detail: `The parameter audience must be ${AGENT_PREFIX} and an agent_id.` });
  }
  return allowed({ kind: 'hand_over', issuedType: JWT_TYPE, request: { ...common, child } });
}

/** RFC 8693 §3: an access token that is a JWT has two names. Ordinary libraries, such as Spring's, send the second one. */
function tokenTypes({ clientIsActor }: OptionalParameters): readonly string[] {
  return clientIsActor ? [ACCESS_TOKEN_TYPE, JWT_TYPE] : [ACCESS_TOKEN_TYPE];
}

function parseRefresh(form: OAuthForm, optional: OptionalParameters): Outcome<TokenRequest> {
  const refreshToken = form.get('refresh_token');
  const scopeText = form.get('scope');
  if (refreshToken === undefined) return missing('refresh_token');
  const target = readTarget(form, optional);
  if (target.kind === 'denied') return target;
  // A library's own refresh names no resource: then the task's is meant. Only the task says whether its person started it.
  const mayLackResource = optional.audienceParameter || optional.authorizationCode;
  if (target.value === undefined && !mayLackResource) return missing('resource');
  const fault = clientFault(form) ?? commonFault(form, target.value, optional);
  if (fault !== undefined) return fault;
  const scope = scopeText === undefined ? undefined : readScope(scopeText);
  if (scopeText !== undefined && scope === undefined) return badScope();
  return allowed({
    kind: 'refresh',
    issuedType: ACCESS_TOKEN_TYPE,
    request: {
      refreshToken,
      resource: target.value?.value,
      ...(target.value === undefined && !optional.audienceParameter && { needsResource: true }),
      scope,
      clientAssertion: form.get('client_assertion'),
      clientId: form.get('client_id'),
    },
  });
}

/** RFC 6749 §4.1.3 and RFC 7636 §4.5. The form of the verifier is judged with the code's challenge. */
function parseCode(form: OAuthForm, optional: OptionalParameters): Outcome<TokenRequest> {
  const [code, verifier] = [form.get('code'), form.get('code_verifier')];
  if (code === undefined) return missing('code');
  if (verifier === undefined) return missing('code_verifier');
  const target = readTarget(form, optional);
  if (target.kind === 'denied') return target;
  const fault = tooLong('code', code, MAX_CODE) ?? clientFault(form) ?? commonFault(form, target.value, optional);
  if (fault !== undefined) return fault;
  return allowed({
    kind: 'code',
    issuedType: ACCESS_TOKEN_TYPE,
    request: {
      code,
      verifier,
      redirectUri: form.get('redirect_uri'),
      resource: target.value?.value,
      clientAssertion: form.get('client_assertion'),
      clientId: form.get('client_id'),
    },
  });
}

export function parseIntrospection(form: OAuthForm): Outcome<string> {
  const token = form.get('token');
  return token === undefined ? missing('token') : allowed(token);
}

/** The request object is not examined here: all that is wrong with it has one sentence. */
export function parseApproval(form: OAuthForm): Outcome<ApprovalQuestion> {
  const [token, request] = [form.get('token'), form.get('request')];
  if (token === undefined) return missing('token');
  return request === undefined ? missing('request') : allowed({ token, request });
}

export function parseRevocation(form: OAuthForm, optional: OptionalParameters): Outcome<RevocationRequest> {
  const token = form.get('token');
  const hint = form.get('token_type_hint');
  if (token === undefined) return missing('token');
  if (hint !== undefined && hint !== 'access_token' && hint !== 'refresh_token')
    return denied('unsupported_token_type');
  const fault = clientFault(form) ?? clientIdFault(form, optional);
  if (fault !== undefined) return fault;
  return allowed({ token, clientAssertion: form.get('client_assertion'), clientId: form.get('client_id') });
}

/** Parses the scope names. `undefined` if the text is too long or empty, or a name is no scope-token (RFC 6749 §3.3). */
export function readScope(text: string): Scope | undefined {
  if (text.length > MAX_SCOPE) return undefined;
  const scope = parseScope(text);
  return scope === undefined || scope.length === 0 ? undefined : scope;
}

function clientFault(form: OAuthForm): Denied | undefined {
  const type = form.get('client_assertion_type');
  if (form.has('client_assertion') ? type !== JWT_BEARER : type !== undefined && type !== JWT_BEARER) {
    return mustBe('client_assertion_type', JWT_BEARER);
  }
  return tooLong('client_assertion', form.get('client_assertion'), MAX_ASSERTION);
}

function commonFault(
  form: OAuthForm,
  target: Target | undefined,
  optional: Pick<OptionalParameters, 'authorizationCode'>,
): Denied | undefined {
  const fault = target === undefined ? undefined : targetFault(target);
  return fault ?? clientIdFault(form, optional);
}

function clientIdFault(
  form: OAuthForm,
  { authorizationCode }: Pick<OptionalParameters, 'authorizationCode'>,
): Denied | undefined {
  return tooLong('client_id', form.get('client_id'), authorizationCode ? MAX_URL_LENGTH : MAX_CLIENT_ID);
}

export function badScope(): Denied {
  return denied('invalid_request', {
    detail: `The parameter scope must be 1 to ${MAX_SCOPE} characters of scope names separated by spaces.`,
  });
}
