/**
 * The site of `/me`: what adapters/http/browser/page-router.ts needs to know of people and their API. The pages take a session
 * only: a request with an access token goes on to the API, which refuses or serves it.
 */

import express, { type Router } from 'express';
import { serveAssets } from '../browser/assets.ts';
import { languageOf } from '../browser/language.ts';
import { FORM_PAGE_HEADERS, wantsPage } from '../browser/page-headers.ts';
import { servePages } from '../browser/page-router.ts';
import type { Asked, Site } from '../browser/pages.ts';
import { PERSON_ASSETS_BASE as ASSETS_BASE } from '../browser/person-document.ts';
import { issuerPath } from '../routes.ts';
import { assets } from './assets.ts';
import type { MeContext, MePage, MePages, PageOptions } from './context.ts';
import { meCookies, noticeCookie, SIGN_IN } from './cookies.ts';
import { answerFaults, answerMessage } from './message.ts';
import { agentPage } from './pages/agent.ts';
import { approvalPage } from './pages/approval.ts';
import { delegationPage } from './pages/delegation.ts';
import { endedPage } from './pages/ended.ts';
import { resumePage } from './pages/resume.ts';
import { taskPage } from './pages/task.ts';
import { tasksPage } from './pages/tasks.ts';
import type { PageSurface } from './surface.ts';

/** A new page is one file in `pages`, its words in `texts`, and its name here. */
export function pagesOf({ approvals, delegation }: Pick<PageSurface, 'approvals' | 'delegation'>): readonly MePage[] {
  return [
    ...[tasksPage, agentPage, taskPage, endedPage, resumePage],
    ...(approvals === undefined ? [] : [approvalPage(approvals)]),
    ...(delegation === undefined ? [] : [delegationPage(delegation)]),
  ];
}

export function pageRouter(surface: PageSurface, options: PageOptions): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  serveAssets(router, ASSETS_BASE, Object.values(assets));
  servePages(router, meSite(surface, options), pagesOf(surface));
  router.use(answerFaults(surface.log, issuerPath(surface.issuer)));
  return router;
}

function meSite(surface: PageSurface, options: PageOptions): Site<MePages> {
  const base = issuerPath(surface.issuer);
  const contextOf = ({ session, request, response }: Asked<MePages>): MeContext => ({
    surface,
    person: session.holder,
    session,
    base,
    language: languageOf(request),
    options,
    takeNotice: () => noticeCookie.take(request, response),
  });
  return {
    origin: surface.issuer,
    base,
    mount: '/me',
    cookies: meCookies,
    flash: noticeCookie,
    findSession: async ({ headers: { cookie = '' }, trace }) => surface.sessions?.find(cookie, trace),
    takes(request, page) {
      const isForBrowsersOnly = page === undefined || page.isForBrowsersOnly === true;
      return request.headers.authorization === undefined && (!isForBrowsersOnly || wantsPage(request));
    },
    signInFor: ({ params }, page) => page?.signIn?.(params) ?? SIGN_IN,
    // What a person sees and does here is the person's.
    admits: async () => true,
    contextOf,
    refuse: (reason, trace) => surface.refuse(reason, trace),
    say: (response, message) => answerMessage(response, { ...message, base }),
    answer(shown, _page, { response }) {
      if ('document' in shown) response.set(FORM_PAGE_HEADERS).send(shown.document);
      else answerMessage(response, { ...shown, base });
    },
    change: (form, asked, field) => form.change(contextOf(asked), field, asked.request.params),
    answerRefusal(refusal, _of, { response }) {
      if ('message' in refusal) return answerMessage(response, { ...refusal.message, base });
      response.reason = 'invalid_fields';
      response.status(400).set(FORM_PAGE_HEADERS).send(refusal.document);
    },
    refuseFile: () => undefined,
  };
}
