/** `POST /backchannel-logout` (OpenID Connect Back-Channel Logout 1.0 §2.5, §2.8; specification "POST /backchannel-logout"). */

import express, { type ErrorRequestHandler, type RequestHandler, type Router } from 'express';
import type { Log } from '../../../application/ports/log.ts';
import { StorageUnavailable } from '../../../application/ports/storage-unavailable.ts';
import type { LogoutOutcome } from '../../../application/signals/accept-logout.ts';
import { discardRest } from '../body.ts';
import { answerDenial, answerFault, answerUnavailable } from '../oauth/answers.ts';
import { GONE, readFormRequest } from '../oauth/read-form.ts';
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
  router.use(answerFaults(surface.log));
  return router;
}

/** §2.8: on every answer. */
const neverStored: RequestHandler = (_request, response, next) => {
  response.setHeader('Cache-Control', 'no-store');
  next();
};

function answerFaults(log: Log): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    if (response.headersSent) {
      next(error);
      return;
    }
    discardRest(request);
    if (error instanceof StorageUnavailable) {
      log.error('the database could not answer', error);
      answerUnavailable(response);
      return;
    }
    log.error('a request failed', error);
    answerFault(response);
  };
}
