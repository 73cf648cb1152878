/** The sign-in of people at the page `/me`, relative to that path. */

import type { Router } from 'express';
import type { Log } from '../../../application/ports/telemetry.ts';
import { type SignInSurface, signInRouter } from '../browser/sign-in.ts';
import { issuerPath } from '../routes.ts';
import { meCookies } from './cookies.ts';
import { answerFaults, answerNotice } from './notice.ts';

export interface MeSignIn extends SignInSurface {
  readonly log: Log;
}

export function meSignInRouter(surface: MeSignIn): Router {
  const base = issuerPath(surface.origin);
  return signInRouter(surface, {
    cookies: meCookies,
    home: 'me',
    base,
    mount: '/me',
    say: (response, notice) => answerNotice(response, { ...notice, base }),
    faults: answerFaults(surface.log, base),
  });
}
