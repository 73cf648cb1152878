/** `/oauth2/*` (specification "Endpoints"): the endpoints for agents and tool servers. */

import express, { type Request, type Response, type Router } from 'express';
import { denied, type Outcome } from '../../../application/outcome.ts';
import type { Log } from '../../../application/ports/telemetry.ts';
import type { ExchangeRequest } from '../../../application/token/exchange.ts';
import type { IntrospectedToken } from '../../../application/token/introspect.ts';
import type { IssuedToken } from '../../../application/token/mint.ts';
import type { RefreshRequest } from '../../../application/token/refresh.ts';
import type { RevocationRequest, RevocationResult } from '../../../application/token/revoke.ts';
import type { Trace } from '../../../domain/trace-context.ts';
import { discardRest } from '../message/body.ts';
import { faultHandler } from '../message/faults.ts';
import { neverStored } from '../message/head.ts';
import type { ServedRequest } from '../server/message-classes.ts';
import {
  answerDenial,
  answerFault,
  answerIntrospection,
  answerIssued,
  answerMethod,
  answerUnavailable,
} from './answers.ts';
import { type Form, GONE, readFormRequest } from './form.ts';
import { parseIntrospection, parseRevocation, parseTokenRequest } from './requests.ts';

export interface OAuthSurface {
  exchange(request: ExchangeRequest, trace?: Trace): Promise<Outcome<IssuedToken>>;
  refresh(request: RefreshRequest, trace?: Trace): Promise<Outcome<IssuedToken>>;
  introspect(token: string): Promise<IntrospectedToken>;
  revoke(request: RevocationRequest, trace?: Trace): Promise<Outcome<RevocationResult>>;
  /** Every refusal passes through here, and is recorded before it is answered. */
  record<T>(decide: () => Promise<Outcome<T>>, trace?: Trace): Promise<Outcome<T>>;
  readonly log: Log;
}

export function oauthRouter(surface: OAuthSurface): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  // Supplement "Token endpoint": no answer may be cached.
  router.use(neverStored, (_request, response, next) => {
    response.setHeader('Pragma', 'no-cache');
    next();
  });

  endpoint(surface, router, '/token', async (form, response, trace) => {
    const parsed = parseTokenRequest(form);
    const decide = async (): Promise<Outcome<IssuedToken>> => {
      if (parsed.kind === 'denied') return parsed;
      const { kind, request } = parsed.value;
      return kind === 'exchange' ? surface.exchange(request, trace) : surface.refresh(request, trace);
    };
    const outcome = await surface.record(decide, trace);
    if (outcome.kind === 'denied') answerDenial(response, outcome.denial);
    else answerIssued(response, outcome.value);
  });

  endpoint(surface, router, '/introspect', async (form, response, trace) => {
    const parsed = parseIntrospection(form);
    const token = parsed.kind === 'denied' ? await surface.record<string>(async () => parsed, trace) : parsed;
    if (token.kind === 'denied') answerDenial(response, token.denial);
    else answerIntrospection(response, await surface.introspect(token.value));
  });

  endpoint(surface, router, '/revoke', async (form, response, trace) => {
    const parsed = parseRevocation(form);
    const decide = async () => (parsed.kind === 'denied' ? parsed : surface.revoke(parsed.value, trace));
    const outcome = await surface.record(decide, trace);
    if (outcome.kind === 'denied' && outcome.denial.reason !== 'revocation_not_owner') {
      answerDenial(response, outcome.denial);
      return;
    }
    // RFC 7009 §2.2: the same answer whether or not the token was the agent's to revoke.
    response.locals.reason = outcome.kind === 'denied' ? outcome.denial.reason : outcome.value;
    response.status(200).end();
  });

  router.use(faultHandler(surface.log, { unavailable: answerUnavailable, fault: answerFault }));
  return router;
}

/** A POST endpoint that takes a form. Any other method is recorded as a malformed request. */
function endpoint(
  surface: OAuthSurface,
  router: Router,
  path: string,
  handle: (form: Form, response: Response, trace: Trace | undefined) => Promise<void>,
): void {
  router.post(path, async (request: Request & ServedRequest, response: Response) => {
    const read = await readFormRequest(request);
    if (read === GONE) return;
    if (read.kind === 'allowed') return handle(read.value, response, request.trace);
    const refused = await surface.record(async () => read, request.trace);
    if (refused.kind === 'denied') answerDenial(response, refused.denial);
  });
  router.all(path, async (request: Request & ServedRequest, response: Response) => {
    discardRest(request);
    await surface.record(async () => denied('invalid_request'), request.trace);
    answerMethod(response);
  });
}
