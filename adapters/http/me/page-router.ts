/**
 * Routes of the person's page, relative to `/me`. They take a session only: a request with an access token goes on to
 * the API, which refuses or serves it.
 */

import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import type { MyTasksCursor } from '../../../application/me/my-tasks.ts';
import type { MyStopSelection } from '../../../application/me/stop-my-tasks.ts';
import type { Clock } from '../../../application/ports/runtime.ts';
import { parseAgentId, parseTaskId } from '../../../domain/identifiers.ts';
import { isSignInDated } from '../../../domain/sessions/sign-in-age.ts';
import type { MePerson } from '../../../domain/sponsors/me-person.ts';
import { serveAssets } from '../browser/assets.ts';
import { flashCookie } from '../browser/flash.ts';
import { type FormField, type Guard, sessionOfForm, sessionOfPage } from '../browser/guards.ts';
import { FORM_PAGE_HEADERS, redirect, wantsPage } from '../browser/page-headers.ts';
import type { BrowserSession } from '../browser/session.ts';
import { queryParameters } from '../message/head.ts';
import { issuerPath } from '../routes.ts';
import { ASSETS_BASE, assets } from './assets.ts';
import { meCookies } from './cookies.ts';
import { formatAfter, type MeSurface, parseAfter } from './me-router.ts';
import { answerFaults, answerNotice, languageOf, type Notice as NoticePage } from './notice.ts';
import { AGENT_FIELD, renderMe, renderResume } from './page.ts';
import { type MeView, type Notice, noticeKinds } from './view.ts';

export interface PageOptions extends Pick<MeView, 'reach' | 'scopeWords' | 'sessionTtl'> {
  readonly clock: Clock;
}

const flash = flashCookie('__Host-mandate-notice', noticeKinds);

/** More tasks are on the next page. */
const TASKS_PER_PAGE = 100;

export function pageRouter(surface: MeSurface, options: PageOptions): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  const base = issuerPath(surface.issuer);
  serveAssets(router, ASSETS_BASE, Object.values(assets));
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

  const show =
    (answer: (asked: Asked, request: Request, response: Response) => Promise<void>): RequestHandler =>
    async (request, response, next) => {
      if (request.headers.authorization !== undefined) return next();
      const session = await sessionOfPage(guard, request, response);
      if (session !== undefined) await answer(asked(session), request, response);
    };

  /** A form, after which the browser opens the page again. */
  const act =
    <Params>(change: (asked: Asked, params: Params, field: FormField) => Promise<Outcome>): RequestHandler<Params> =>
    async (request, response, next) => {
      if (request.headers.authorization !== undefined || !wantsPage(request)) return next();
      const form = await sessionOfForm(guard, request as Request, response);
      if (form === undefined) return;
      const outcome = await change(asked(form.session), request.params, form.field);
      if (outcome.kind === 'refused') return answerNotice(response, { ...outcome.notice, base });
      if (outcome.notice !== undefined) flash.give(response, outcome.notice);
      redirect(response, `${base}${outcome.to ?? '/me'}`, 303);
    };

  router.get('/', show(showTasks));
  router.get('/resume', show(showResume));
  // After a refused form its address stays in the browser. A person who opens it looks for the tasks.
  router.get(['/tasks/stop', '/tasks/:taskId/stop', '/agents/stop', '/pause'], (request, response, next) => {
    if (request.headers.authorization !== undefined || !wantsPage(request)) next();
    else redirect(response, `${base}/me`);
  });
  router.post(
    '/tasks/stop',
    act((asked) => stop(asked, { kind: 'sponsor' })),
  );
  router.post(
    '/tasks/:taskId/stop',
    act<{ taskId: string }>((asked, { taskId }) => stop(asked, taskOf(taskId))),
  );
  router.post(
    '/agents/stop',
    act((asked, _params, field) => stop(asked, agentOf(field(AGENT_FIELD) ?? ''))),
  );
  router.post('/pause', act(pause));
  router.post('/resume', act(resume));
  router.use(answerFaults(surface.log, base));
  return router;
}

interface Asked {
  readonly surface: MeSurface;
  readonly person: MePerson;
  readonly session: BrowserSession<MePerson>;
  readonly base: string;
  readonly options: PageOptions;
}

type Message = Pick<NoticePage, 'status' | 'kind'>;

type Outcome =
  | { readonly kind: 'done'; readonly notice?: Notice; readonly to?: '/me/resume' }
  | { readonly kind: 'refused'; readonly notice: Message };

const UNKNOWN_TASK: Message = { status: 404, kind: 'unknown_task' };

const taskOf = (text: string): MyStopSelection | undefined => {
  const taskId = parseTaskId(text);
  return taskId && { kind: 'task', taskId };
};

const agentOf = (text: string): MyStopSelection | undefined => {
  const agentId = parseAgentId(text);
  return agentId && { kind: 'sponsor_agent', agentId };
};

async function showTasks(asked: Asked, request: Request, response: Response): Promise<void> {
  const { surface, person, session, base, options } = asked;
  const after = afterOf(request);
  if (after === 'malformed') return answerNotice(response, { status: 400, kind: 'malformed', base });
  const [page, pause, mayResume] = await Promise.all([
    surface.tasks(person, { after, limit: TASKS_PER_PAGE }),
    surface.pauseOf(person),
    surface.mayResume(person),
  ]);
  const notice = flash.take(request, response);
  const view: MeView = {
    ...options,
    base,
    person: person.sponsorKey,
    now: options.clock.now(),
    formToken: session.formToken,
    notice,
    live: page.tasks.filter(({ state }) => state === 'live'),
    history: page.tasks.filter(({ state }) => state !== 'live'),
    next: page.nextAfter && formatAfter(page.nextAfter),
    isFirst: after === undefined,
    pausedAt: pause.own?.blockedAt,
    blockedByOthers: pause.blockedByOthers,
    canPause: surface.canPause,
    signsOutEverywhere: session.signsOutEverywhere === true,
    isPauseLiftable: isSignInDated(person, options.clock.now()),
    mayResume,
  };
  response.set(FORM_PAGE_HEADERS).send(renderMe(view, languageOf(request)));
}

async function showResume(
  { surface, base, person, session }: Asked,
  request: Request,
  response: Response,
): Promise<void> {
  const mayResume = await surface.mayResume(person);
  const view = { base, person: person.sponsorKey, formToken: session.formToken, mayResume };
  response.set(FORM_PAGE_HEADERS).send(renderResume(view, languageOf(request)));
}

/** Only the cursor of the next page is a parameter. */
function afterOf({ url }: Request): MyTasksCursor | 'malformed' | undefined {
  const [first, ...rest] = queryParameters(url);
  if (first === undefined) return undefined;
  if (first.name !== 'after' || rest.length > 0) return 'malformed';
  return parseAfter(first.value ?? '') ?? 'malformed';
}

async function stop({ surface, person }: Asked, selection: MyStopSelection | undefined): Promise<Outcome> {
  const outcome = selection && (await surface.stop(person, selection));
  if (outcome?.kind !== 'ended') return { kind: 'refused', notice: UNKNOWN_TASK };
  return { kind: 'done', notice: { kind: 'stopped', amount: outcome.tasks } };
}

async function pause({ surface, person }: Asked): Promise<Outcome> {
  if (!surface.canPause) return { kind: 'refused', notice: { status: 404, kind: 'unknown_path' } };
  const outcome = await surface.pause(person);
  if (outcome.kind === 'pause_not_liftable') {
    return { kind: 'refused', notice: { status: 409, kind: 'pause_not_liftable' } };
  }
  return { kind: 'done', notice: { kind: 'paused', amount: outcome.revokedTasks } };
}

async function resume({ surface, person }: Asked): Promise<Outcome> {
  switch (await surface.resume(person)) {
    case 'lifted':
      return { kind: 'done', notice: { kind: 'resumed', amount: 0 } };
    case 'not_blocked':
      return { kind: 'done' };
    case 'sign_in_too_old':
      return { kind: 'done', to: '/me/resume' };
    case 'not_owned':
      return { kind: 'refused', notice: { status: 409, kind: 'pause_elsewhere' } };
  }
}
