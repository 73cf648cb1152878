/**
 * How a request for a page of a signed-in person is answered: `show` for a page, `act` for a form. They take a session only: a
 * request with an access token goes on to the API, which refuses or serves it.
 */

import type { Request, RequestHandler, Response } from 'express';
import type {
  MyAgents,
  MyAgentsQuestion,
  MyAgentTasks,
  MyAgentTasksQuestion,
} from '../../../application/me/my-agents.ts';
import type { MyTasksPage, MyTasksQuestion } from '../../../application/me/my-tasks.ts';
import type { Clock } from '../../../application/ports/runtime.ts';
import type { MePerson } from '../../../domain/sponsors/me-person.ts';
import { flashCookie } from '../browser/flash.ts';
import { type FormField, type Guard, sessionOfForm, sessionOfPage } from '../browser/guards.ts';
import { redirect, wantsPage } from '../browser/page-headers.ts';
import type { BrowserSession } from '../browser/session.ts';
import { issuerPath } from '../routes.ts';
import { meCookies } from './cookies.ts';
import type { MeSurface } from './me-router.ts';
import { answerNotice, type Notice as NoticePage } from './notice.ts';
import { type MeView, type Notice, noticeKinds, type PersonView } from './view.ts';

/** What the page reads beside the API. */
export interface PageSurface extends MeSurface {
  agents(person: MePerson, question: MyAgentsQuestion): Promise<MyAgents>;
  /** `undefined` for a task that is not stored, or is another person's. */
  agentTasks(person: MePerson, question: MyAgentTasksQuestion): Promise<MyAgentTasks | undefined>;
  endedTasks(person: MePerson, question: MyTasksQuestion): Promise<MyTasksPage>;
}

export interface PageOptions extends Pick<MeView, 'reach' | 'scopeWords' | 'sessionTtl'> {
  readonly clock: Clock;
}

/** A request of a signed-in person. */
export interface Asked {
  readonly surface: PageSurface;
  readonly person: MePerson;
  readonly session: BrowserSession<MePerson>;
  readonly base: string;
  readonly options: PageOptions;
}

export type Message = Pick<NoticePage, 'status' | 'kind'>;

export type Outcome =
  | { readonly kind: 'done'; readonly notice?: Notice; readonly to?: string | undefined }
  | { readonly kind: 'refused'; readonly notice: Message };

export interface PageRequests {
  /** @param signIn the address of the sign-in of a browser without a session, by default that which leads to `/me` */
  show(
    answer: (asked: Asked, request: Request, response: Response) => Promise<void>,
    signIn?: (request: Request) => string,
  ): RequestHandler;
  /** Handles a form. Then the browser opens the page that its outcome names, by default `/me`. */
  act<Params>(change: (asked: Asked, params: Params, field: FormField) => Promise<Outcome>): RequestHandler<Params>;
  /** The address of a refused form stays in the browser. A person who opens it again gets this page. */
  leadTo<Params>(page: (params: Params) => string): RequestHandler<Params>;
}

const flash = flashCookie('__Host-mandate-notice', noticeKinds);

export function pageRequests(surface: PageSurface, options: PageOptions): PageRequests {
  const base = issuerPath(surface.issuer);
  const guard: Guard<MePerson> = {
    origin: surface.issuer,
    cookies: meCookies,
    signIn: `${base}/me/sign-in`,
    find: async (request) => surface.sessions?.find(request.headers.cookie ?? '', request.trace),
    refuse: (reason, trace) => surface.refuse(reason, trace),
    say: (response, notice) => answerNotice(response, { ...notice, base }),
  };
  const asked = (session: BrowserSession<MePerson>): Asked => ({
    surface,
    person: session.holder,
    session,
    base,
    options,
  });
  return {
    show:
      (answer, signIn = () => '/me/sign-in') =>
      async (request, response, next) => {
        if (request.headers.authorization !== undefined) return next();
        const session = await sessionOfPage({ ...guard, signIn: `${base}${signIn(request)}` }, request, response);
        if (session !== undefined) await answer(asked(session), request, response);
      },
    act: (change) => async (request, response, next) => {
      if (request.headers.authorization !== undefined || !wantsPage(request)) return next();
      const form = await sessionOfForm(guard, request as Request, response);
      if (form === undefined) return;
      const outcome = await change(asked(form.session), request.params, form.field);
      if (outcome.kind === 'refused') return answerNotice(response, { ...outcome.notice, base });
      if (outcome.notice !== undefined) flash.give(response, outcome.notice);
      redirect(response, `${base}${outcome.to ?? '/me'}`, 303);
    },
    leadTo: (page) => (request, response, next) => {
      if (request.headers.authorization !== undefined || !wantsPage(request)) next();
      else redirect(response, `${base}${page(request.params)}`);
    },
  };
}

export function personView(
  { surface, session, person, base, options }: Asked,
  request: Request,
  response: Response,
): PersonView {
  const { scopeWords, sessionTtl, clock } = options;
  return {
    base,
    person: person.sponsorKey,
    now: clock.now(),
    formToken: session.formToken,
    sessionTtl,
    notice: flash.take(request, response),
    scopeWords,
    hearsApprovals: surface.approvals !== undefined,
  };
}
