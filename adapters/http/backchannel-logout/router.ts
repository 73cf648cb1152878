/** `POST /backchannel-logout` (OpenID Connect Back-Channel Logout 1.0 §2.5, §2.8; specification "POST /backchannel-logout"). */

import express, { type RequestHandler, type Router } from 'express';
import type { Log } from '../../../application/ports/telemetry.ts';
import type { LogoutOutcome } from '../../../application/signals/accept-logout.ts';
import { discardRest } from '../message/body.ts';
import { faultHandler } from '../message/faults.ts';
import { answerDenial, answerFault, answerUnavailable } from '../oauth/answers.ts';
import { GONE, readFormRequest } from '../oauth/form.ts';
import { answerLogout, answerMethod, answerMissingToken } from './answers.ts';

export interface BackchannelLogoutSurface {
  /** @param logoutToken `undefined` when the request holds none that can be read; that is recorded too */
  accept(logoutToken: string | undefined): Promise<LogoutOutcome>;
  readonly log: Log;
}

const PATH = '/backchannel-logout';

export function backchannelLogoutRouter(surface: BackchannelLogoutSurface): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  router.all(PATH, neverStored);
  router.post(PATH, async (request, response) => {
    const read = await readFormRequest(request);
    if (read === GONE) return;
    const logoutToken = read.kind === 'allowed' ? read.value.get('logout_token') : undefined;
    const outcome = await surface.accept(logoutToken);
    if (read.kind === 'denied') answerDenial(response, read.denial);
    else if (logoutToken === undefined) answerMissingToken(response);
    else answerLogout(response, outcome);
  });
  router.all(PATH, async (request, response) => {
    discardRest(request);
    await surface.accept(undefined);
    answerMethod(response);
  });
  router.use(faultHandler(surface.log, { unavailable: answerUnavailable, fault: answerFault }));
  return router;
}

/** §2.8: on every answer. */
const neverStored: RequestHandler = (_request, response, next) => {
  response.setHeader('Cache-Control', 'no-store');
  next();
};
