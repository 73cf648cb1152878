/** The application of the console's own listener: sign-in, screens and forms, with admission as on the public one. */

import type { Response } from 'express';
import { type HttpApp, type HttpSurfaces, observedRequests } from '../app.ts';
import { answerFaultsWithPages, refusalPages } from '../browser/faults.ts';
import { logSeveralSessions } from '../browser/several-sessions.ts';
import { type SignInMessage, type SignInSurface, signInRouter } from '../browser/sign-in.ts';
import { expressApp } from '../express-app.ts';
import { withOptions } from '../public/health.ts';
import { messageClasses } from '../server/message-classes.ts';
import { type ConsoleSurface, consoleRouter, say } from './console-router.ts';
import { consoleCookies } from './cookies.ts';
import { renderMessage } from './messages.ts';
import { consoleRouteOf } from './routes.ts';

interface ConsoleSurfaces extends Pick<HttpSurfaces, 'admission' | 'log' | 'randomness' | 'measurements' | 'tracing'> {
  readonly screens: ConsoleSurface;
  readonly signIn: SignInSurface<'no_role'>;
}

const ALLOWED = { '*': 'GET, HEAD, POST, OPTIONS', '/': 'GET, HEAD, OPTIONS' };

export function consoleApp(surfaces: ConsoleSurfaces): HttpApp {
  const app = expressApp();
  app.use(
    logSeveralSessions(surfaces.log, consoleCookies),
    signInRouter(surfaces.signIn, {
      cookies: consoleCookies,
      home: 'now',
      base: '',
      mount: '',
      say: sayNotice,
      faults: answerFaultsWithPages(surfaces.log, say),
    }),
  );
  app.use(consoleRouter(surfaces.screens));
  const refused = refusalPages(
    ['en'],
    () => 'en',
    (reason) => renderMessage(reason),
  );
  const routed = withOptions(ALLOWED, app);
  return {
    listener: observedRequests(surfaces, routed, consoleRouteOf, { console: refused }),
    classes: messageClasses(app),
  };
}

function sayNotice(
  response: Response,
  notice: { readonly status: number; readonly kind: SignInMessage<'no_role'>; readonly to?: string },
): void {
  const { kind } = notice;
  // Only a sign-in with a maximum age is refused for its age, and none here has one.
  const isTooOld = kind === 'sign_in_too_old' || kind === 'sign_in_undated';
  say(response, { ...notice, kind: isTooOld ? 'id_token_refused' : kind, reason: kind });
}
