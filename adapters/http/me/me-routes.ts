/**
 * All of `/me`, where people see and stop what acts for them. This code is loaded only if `/me` is configured.
 *
 * A request passes the routers in this order. Without `Service:Me:ClientId` only the third one exists.
 * 1. `sign-in-router.ts`: the sign-in at the identity provider opens a session, the sign-out closes it.
 * 2. `page-router.ts`: the pages and their forms, each a value of a file in `pages`. They take a session only, which
 *    adapters/http/browser/page-router.ts checks.
 * 3. `me-router.ts`: the API, for an access token or a session (`identify.ts`), with `approval-routes.ts` if there are approvals, and `delegation-routes.ts` with
 *    `Service:Delegation:Enabled`.
 *
 * A page and a route of the API ask a use case (`surface.ts`), and read the same fields (`parameters.ts`). `frame.ts` and
 * `task-parts.ts` have what pages share, `texts` the words of each language. `message.ts` answers browsers whose request failed.
 */

import express, { type Router } from 'express';
import type { RefusalPages } from '../admission/refusals.ts';
import { refusalPages } from '../browser/faults.ts';
import { languageOf, languages } from '../browser/language.ts';
import { logSeveralSessions } from '../browser/several-sessions.ts';
import { issuerPath } from '../routes.ts';
import type { PageOptions } from './context.ts';
import { meCookies } from './cookies.ts';
import { meRouter } from './me-router.ts';
import { answerBrowser, renderMessage } from './message.ts';
import { pageRouter } from './page-router.ts';
import { type MeSignIn, meSignInRouter } from './sign-in-router.ts';
import type { PageSurface } from './surface.ts';

export interface MeSurfaces {
  readonly api: PageSurface;
  /** `undefined` without `Service:Me:ClientId`, as is the page. */
  readonly signIn: MeSignIn | undefined;
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
