/** All of `/me`: the API, and the page if people sign in here. The code is loaded only if `/me` is configured. */

import express, { type Router } from 'express';
import type { RefusalPages } from '../admission/refusals.ts';
import { refusalPages } from '../browser/faults.ts';
import { logSeveralSessions } from '../browser/several-sessions.ts';
import { issuerPath } from '../routes.ts';
import type { Traceable } from '../traceable.ts';
import { meCookies } from './cookies.ts';
import { meRouter } from './me-router.ts';
import { renderMessage } from './message-page.ts';
import { answerBrowser, languageOf } from './notice.ts';
import { type PageOptions, type PageSurface, pageRouter } from './page-router.ts';
import { type MeSignIn, meSignInRouter } from './sign-in-router.ts';
import { languages } from './view.ts';

export interface MeSurfaces {
  readonly api: Traceable<PageSurface>;
  /** `undefined` without `Service:Me:ClientId`, as is the page. */
  readonly signIn: Traceable<MeSignIn> | undefined;
  readonly page: PageOptions | undefined;
}

export interface MeRoutes {
  readonly router: Router;
  readonly refusalPages: RefusalPages | undefined;
}

export function meRoutes({ api, signIn, page }: MeSurfaces): MeRoutes {
  const router = express.Router({ caseSensitive: true, strict: true });
  if (signIn !== undefined) router.use(logSeveralSessions(api.log, meCookies), meSignInRouter(signIn));
  const base = issuerPath(api.issuer);
  router.use(meRouter(api, page && { router: pageRouter(api, page), answerBrowser: answerBrowser(base) }));
  const refused = refusalPages(languages, languageOf, (reason, language) => renderMessage(reason, language, base));
  return { router, refusalPages: page && refused };
}
