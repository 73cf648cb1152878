/** The application of the console's own listener: sign-in, screens and forms, with admission as on the public one. */

import express, { type Response } from 'express';
import { type Answer, answerOf, type RefusalPages } from '../admission/refusals.ts';
import { type HttpApp, type HttpSurfaces, observedRequests } from '../app.ts';
import { PAGE_HEADERS, wantsPage } from '../browser/page-headers.ts';
import { logSeveralSessions } from '../browser/several-sessions.ts';
import { type SignInNotice, type SignInSurface, signInRouter } from '../browser/sign-in.ts';
import { type AdmissionRefusal, messageClasses } from '../server/message-classes.ts';
import type { Traceable } from '../traceable.ts';
import { answer, answerFaultsWithPages, type ConsoleSurface, consoleRouter } from './console-router.ts';
import { consoleCookies } from './cookies.ts';
import { renderMessage } from './messages.ts';
import { consoleRouteOf } from './routes.ts';

export interface ConsoleSurfaces
  extends Pick<HttpSurfaces, 'admission' | 'log' | 'randomness' | 'measurements' | 'tracing'> {
  readonly screens: ConsoleSurface;
  readonly signIn: Traceable<SignInSurface<'no_role'>>;
}

export function consoleApp(surfaces: ConsoleSurfaces): HttpApp {
  const app = express();
  app.disable('x-powered-by');
  // No answer here supports conditional requests, and an ETag would reveal a hash of the content.
  app.disable('etag');
  app.set('query parser', false);
  app.set('case sensitive routing', true);
  app.set('strict routing', true);
  app.use(
    logSeveralSessions(surfaces.log, consoleCookies),
    signInRouter(surfaces.signIn, {
      ...{ cookies: consoleCookies, home: 'now', base: '', mount: '' },
      say: sayNotice,
      faults: answerFaultsWithPages(surfaces.log),
    }),
  );
  app.use(consoleRouter(surfaces.screens));
  return { listener: observedRequests(surfaces, app, consoleRouteOf, refusalPages()), classes: messageClasses(app) };
}

function sayNotice(
  response: Response,
  { status, kind, to }: { readonly status: number; readonly kind: SignInNotice<'no_role'>; readonly to?: string },
): void {
  // Only a sign-in with a maximum age is refused for its age, and none here has one.
  const message = kind === 'sign_in_too_old' || kind === 'sign_in_undated' ? 'id_token_refused' : kind;
  answer(response, { status, reason: kind }, renderMessage(message, undefined, to));
}

/** Rendered once, because refusals must be cheap. A program gets problem details. */
function refusalPages(): RefusalPages {
  const page = (reason: AdmissionRefusal): Answer => answerOf(reason, PAGE_HEADERS, renderMessage(reason));
  const pages = { rate_limited: page('rate_limited'), overloaded: page('overloaded') };
  return (request, reason) => (wantsPage(request) ? pages[reason] : undefined);
}
