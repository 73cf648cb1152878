/**
 * `POST /backchannel-logout` (OpenID Connect Back-Channel Logout 1.0 §2.5, §2.8; specification "POST
 * /backchannel-logout").
 *
 * The identity provider posts a form with a logout token. `application/signals/accept-logout.ts` validates the token,
 * ends tasks and sessions, and records the outcome, also for a request without a readable token. The provider learns
 * only whether the token was accepted.
 */

import express, { type Request, type Response, type Router } from 'express';
import type { HeldPermit } from '../../../application/ports/keys.ts';
import type { Log } from '../../../application/ports/telemetry.ts';
import type { LogoutOutcome } from '../../../application/signals/accept-logout.ts';
import type { Trace } from '../../../domain/trace-context.ts';
import { discardRest, withoutLineBreak } from '../message/body.ts';
import { CAPACITY_RETRY_AFTER, faultHandler } from '../message/faults.ts';
import { neverStored } from '../message/head.ts';
import { answerDenial, answerFault, answerMethod, answerUnavailable } from '../oauth/answers.ts';
import { GONE, readFormRequest } from '../oauth/form.ts';

export interface BackchannelLogoutSurface {
  /** @param logoutToken `undefined` if the request has no readable token. This is recorded too */
  accept(logoutToken: string | undefined, trace?: Trace, permit?: HeldPermit): Promise<LogoutOutcome>;
  readonly log: Log;
}

const PATH = '/backchannel-logout';

export function backchannelLogoutRouter(surface: BackchannelLogoutSurface): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  // §2.8: no answer may be cached.
  router.all(PATH, neverStored);
  router.post(PATH, async (request: Request, response) => {
    const read = await readFormRequest(request);
    if (read === GONE) return;
    const given = read.kind === 'allowed' ? read.value.get('logout_token') : undefined;
    const logoutToken = given && withoutLineBreak(given);
    const outcome = await surface.accept(logoutToken, request.trace, request.permit);
    if (read.kind === 'denied') answerDenial(response, read.denial);
    else if (logoutToken === undefined) answerMissingToken(response);
    else answerLogout(response, outcome);
  });
  router.all(PATH, async (request: Request, response) => {
    discardRest(request);
    await surface.accept(undefined, request.trace);
    response.reason = 'logout_malformed';
    answerMethod(response);
  });
  router.use(faultHandler(surface.log, { unavailable: answerUnavailable, fault: answerFault }));
  return router;
}

/** The answer never says which check a token failed (specification "Back-channel logout answers"). */
function answerLogout(response: Response, outcome: LogoutOutcome): void {
  if (outcome.kind !== 'refused') {
    // A repeated token gets the same answer, because a provider that got no answer sends it again.
    response.reason = outcome.kind;
    response.status(200).end();
    return;
  }
  response.reason = outcome.reason;
  if (outcome.reason === 'logout_keys_unavailable') {
    response.set('Retry-After', String(CAPACITY_RETRY_AFTER));
    response.status(503).json({
      error: 'temporarily_unavailable',
      error_description: "The identity provider's keys could not be fetched. Retry the request.",
    });
    return;
  }
  refuse(response, 'The logout token is not acceptable.');
}

function answerMissingToken(response: Response): void {
  response.reason = 'logout_malformed';
  refuse(response, 'The parameter logout_token is missing.');
}

function refuse(response: Response, sentence: string): void {
  response.status(400).json({ error: 'invalid_request', error_description: sentence });
}
