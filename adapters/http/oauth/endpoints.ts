/**
 * `/oauth2/*` (specification "Endpoints"): the endpoints for agents and tool servers. One of them is optional. form.ts parses the form,
 * requests.ts turns it into the typed request of a use case, `application/token` decides, and answers.ts turns the
 * outcome into a response. The handlers are called by Node's server, in front of Express. Each has a fixed path and
 * one method, and Express would take a tenth of an exchange's CPU time.
 */

import type { RequestListener } from 'node:http';
import type { ApprovalQuestion, AskedApproval } from '../../../application/approvals/ask.ts';
import { allowed, denied, type Outcome } from '../../../application/outcome.ts';
import type { HeldPermit } from '../../../application/ports/keys.ts';
import type { Log } from '../../../application/ports/telemetry.ts';
import type { ExchangeRequest } from '../../../application/token/exchange.ts';
import type { HandOverRequest, IssuedOffer } from '../../../application/token/hand-over.ts';
import type { IntrospectedToken } from '../../../application/token/introspect.ts';
import type { IssuedToken } from '../../../application/token/mint.ts';
import type { CodeRequest } from '../../../application/token/redeem.ts';
import type { RefreshRequest } from '../../../application/token/refresh.ts';
import type { RevocationRequest, RevocationResult } from '../../../application/token/revoke.ts';
import type { TakeUpRequest } from '../../../application/token/take-up.ts';
import type { Trace } from '../../../domain/trace-context.ts';
import { discardRest } from '../message/body.ts';
import { faultAnswer } from '../message/faults.ts';
import { ASKED, type OptionalPath } from '../routes.ts';
import type { ServedRequest, ServedResponse } from '../server/message-classes.ts';
import {
  answerApproval,
  answerDenial,
  answerFault,
  answerIntrospection,
  answerIssued,
  answerMethod,
  answerNothing,
  answerOffer,
  answerUnavailable,
  neverCached,
} from './answers.ts';
import { GONE, readFormRequest } from './form.ts';
import { addedParameters, type OAuthForm, type OptionalParameters } from './optional-parameters.ts';
import {
  parseApproval,
  parseIntrospection,
  parseRevocation,
  parseTokenRequest,
  type TokenRequest,
} from './requests.ts';
import { secondAuthentication, withoutUnprovedName } from './second-authentication.ts';
import { namingParameter } from './target.ts';

export interface OAuthSurface {
  exchange(request: ExchangeRequest, trace?: Trace, permit?: HeldPermit): Promise<Outcome<IssuedToken>>;
  refresh(request: RefreshRequest, trace?: Trace, permit?: HeldPermit): Promise<Outcome<IssuedToken>>;
  redeem(request: CodeRequest, trace?: Trace, permit?: HeldPermit): Promise<Outcome<IssuedToken>>;
  handOver(request: HandOverRequest, trace?: Trace, permit?: HeldPermit): Promise<Outcome<IssuedOffer>>;
  takeUp(request: TakeUpRequest, trace?: Trace, permit?: HeldPermit): Promise<Outcome<IssuedToken>>;
  introspect(token: string): Promise<IntrospectedToken>;
  revoke(request: RevocationRequest, trace?: Trace, permit?: HeldPermit): Promise<Outcome<RevocationResult>>;
  /** Records a refusal before it is answered. Every request that may be refused passes through here. */
  record<T>(decide: () => Promise<Outcome<T>>, trace?: Trace): Promise<Outcome<T>>;
  readonly optionalParameters: OptionalParameters;
  readonly log: Log;
}

export interface ApprovalSurface {
  readonly issuer: string;
  ask(question: ApprovalQuestion, trace?: Trace, permit?: HeldPermit): Promise<Outcome<AskedApproval>>;
}

/** The handler of each path. */
export function oauthEndpoints(surface: OAuthSurface): ReadonlyMap<string, RequestListener> {
  return new Map([
    ['/oauth2/token', endpoint(surface, tokenEndpoint)],
    ['/oauth2/introspect', endpoint(surface, introspectionEndpoint)],
    ['/oauth2/revoke', endpoint(surface, revocationEndpoint)],
  ]);
}

/** With `Service:Approvals:Enabled`. */
export function approvalPath(surface: OAuthSurface, approvals: ApprovalSurface): OptionalPath {
  return {
    path: '/oauth2/approval',
    isExact: true,
    route: { ...ASKED, metric: 'approval' },
    serve: endpoint(surface, approvalEndpoint(approvals), ['request']),
  };
}

type FormHandler = (
  surface: OAuthSurface,
  form: OAuthForm,
  response: ServedResponse,
  from: Pick<ServedRequest, 'trace' | 'permit'>,
) => Promise<void>;

const tokenEndpoint: FormHandler = async (surface, form, response, { trace, permit }) => {
  const { optionalParameters } = surface;
  const { authorization } = response.req.headers;
  const twice = secondAuthentication(form, authorization, ['client_assertion', 'actor_token']);
  const named = withoutUnprovedName(form, authorization, optionalParameters);
  const parsed = twice ?? parseTokenRequest(named, optionalParameters);
  const decide = async () => {
    if (parsed.kind === 'denied') return parsed;
    const { issuedType } = parsed.value;
    const issued = await answerOf(surface, parsed.value, trace, permit);
    return issued.kind === 'denied' ? issued : allowed({ ...issued.value, issuedType });
  };
  const outcome = await surface.record(decide, trace);
  if (outcome.kind === 'denied') answerDenial(response, namingParameter(outcome.denial, form, optionalParameters));
  else if ('offer' in outcome.value) answerOffer(response, outcome.value, outcome.value.issuedType);
  else answerIssued(response, outcome.value, outcome.value.issuedType);
};

function answerOf(
  surface: OAuthSurface,
  asked: TokenRequest,
  trace: Trace | undefined,
  permit: HeldPermit,
): Promise<Outcome<IssuedToken | IssuedOffer>> {
  switch (asked.kind) {
    case 'exchange':
      return surface.exchange(asked.request, trace, permit);
    case 'refresh':
      return surface.refresh(asked.request, trace, permit);
    case 'code':
      return surface.redeem(asked.request, trace, permit);
    case 'hand_over':
      return surface.handOver(asked.request, trace, permit);
    case 'take_up':
      return surface.takeUp(asked.request, trace, permit);
  }
}

const introspectionEndpoint: FormHandler = async (surface, form, response, { trace }) => {
  const parsed = parseIntrospection(form);
  const token = parsed.kind === 'denied' ? await surface.record<string>(async () => parsed, trace) : parsed;
  if (token.kind === 'denied') answerDenial(response, token.denial);
  else answerIntrospection(response, await surface.introspect(token.value));
};

const revocationEndpoint: FormHandler = async (surface, form, response, { trace, permit }) => {
  const { authorization } = response.req.headers;
  const twice = secondAuthentication(form, authorization, ['client_assertion']);
  const named = withoutUnprovedName(form, authorization, surface.optionalParameters);
  const parsed = twice ?? parseRevocation(named, surface.optionalParameters);
  const decide = async () => (parsed.kind === 'denied' ? parsed : surface.revoke(parsed.value, trace, permit));
  const outcome = await surface.record(decide, trace);
  if (outcome.kind === 'denied' && outcome.denial.reason !== 'revocation_not_owner') {
    answerDenial(response, outcome.denial);
    return;
  }
  // RFC 7009 §2.2: the same answer whether or not the token was the agent's to revoke.
  answerNothing(response, outcome.kind === 'denied' ? outcome.denial.reason : outcome.value);
};

const approvalEndpoint =
  ({ issuer, ask }: ApprovalSurface): FormHandler =>
  async (surface, form, response, { trace, permit }) => {
    const twice = secondAuthentication(form, response.req.headers.authorization, ['request']);
    const parsed = twice ?? parseApproval(form);
    const decide = async () => (parsed.kind === 'denied' ? parsed : ask(parsed.value, trace, permit));
    const outcome = await surface.record(decide, trace);
    if (outcome.kind === 'denied') answerDenial(response, outcome.denial);
    else answerApproval(response, outcome.value, issuer);
  };

/**
 * A POST endpoint that takes a form. Any other method is recorded as a malformed request.
 *
 * @param more names of parameters that only this endpoint reads
 */
function endpoint(surface: OAuthSurface, handle: FormHandler, more: readonly string[] = []): RequestListener {
  const answerError = faultAnswer(surface.log, { unavailable: answerUnavailable, fault: answerFault });
  const added = [...addedParameters(surface.optionalParameters), ...more];

  const serve = async (request: ServedRequest, response: ServedResponse): Promise<void> => {
    if (request.method !== 'POST') {
      discardRest(request);
      await surface.record(async () => denied('invalid_request'), request.trace);
      answerMethod(response);
      return;
    }
    const read = await readFormRequest(request, added);
    if (read === GONE) return;
    if (read.kind === 'allowed') return handle(surface, read.value, response, request);
    const refused = await surface.record(async () => read, request.trace);
    if (refused.kind === 'denied') answerDenial(response, refused.denial);
  };

  return (request: ServedRequest, response: ServedResponse) => {
    neverCached(response);
    serve(request, response).catch((error: unknown) => {
      // The response has begun. Closing the connection shows the client that the response is incomplete.
      if (response.headersSent) request.socket.destroy();
      else answerError(error, request, response);
    });
  };
}
