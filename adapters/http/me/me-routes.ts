/**
 * All of `/me`, where people see and stop what acts for them. This code is loaded only if `/me` is configured.
 *
 * A request passes the routers in this order. Without `Service:Me:ClientId` only the third one exists.
 * 1. `sign-in-router.ts`: the sign-in at the identity provider opens a session, the sign-out closes it.
 * 2. `page-router.ts`: the pages, and their forms. Each form ends with a redirect to a page. They take a session only
 *    (`page-requests.ts`). With approvals it has the routes of `approval-page-routes.ts`, and the API those of `approval-routes.ts`.
 * 3. `me-router.ts`: the API, for an access token or a session (`identify.ts`).
 *
 * A router asks a use case of `application/me`. A page is made from a view (`view.ts`): `page.ts` shows all agents,
 * `agent-page.ts` the tasks of one, `approval-page.ts` an action that waits for a yes, `ended-page.ts` ended tasks,
 * `message-page.ts` a message. `frame.ts` and `task-parts.ts` have what these pages share, `texts` the words of each language.
 * `notice.ts` answers browsers whose request failed.
 */

import express, { type Router } from 'express';
import type { RefusalPages } from '../admission/refusals.ts';
import { refusalPages } from '../browser/faults.ts';
import { logSeveralSessions } from '../browser/several-sessions.ts';
import { issuerPath } from '../routes.ts';
import { meCookies } from './cookies.ts';
import { meRouter } from './me-router.ts';
import { renderMessage } from './message-page.ts';
import { answerBrowser, languageOf } from './notice.ts';
import type { PageOptions, PageSurface } from './page-requests.ts';
import { pageRouter } from './page-router.ts';
import { type MeSignIn, meSignInRouter } from './sign-in-router.ts';
import { languages } from './view.ts';

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
