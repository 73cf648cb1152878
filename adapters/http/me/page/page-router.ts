/**
 * Routes of the person's page, relative to `/me`. They take a session only: a request with an access token goes on to
 * the API, which refuses or serves it.
 */

import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import type { MyTasksCursor } from '../../../../application/me/my-tasks.ts';
import { isPauseLiftable, RESUME_MAX_AGE_SECONDS } from '../../../../application/me/pause.ts';
import type { MyStopSelection } from '../../../../application/me/stop-my-tasks.ts';
import type { Clock } from '../../../../application/ports/runtime.ts';
import { parseAgentId, parseTaskId } from '../../../../domain/identifiers.ts';
import { secondsBetween } from '../../../../domain/instant.ts';
import type { MePerson } from '../../../../domain/sponsors/me-person.ts';
import { serveAssets } from '../../browser/assets.ts';
import { FORM_PAGE_HEADERS, redirect, wantsPage } from '../../browser/page-headers.ts';
import type { BrowserSession } from '../../browser/session.ts';
import { queryParameters } from '../../message/head.ts';
import { GONE, readFormRequest } from '../../oauth/form.ts';
import { issuerPath } from '../../routes.ts';
import { forRequest, type Traceable } from '../../traceable.ts';
import { meCookies } from '../cookies.ts';
import { mayWrite } from '../identify.ts';
import { formatAfter, type MeSurface, parseAfter } from '../me-router.ts';
import { ASSETS_BASE, assets } from './assets.ts';
import { answerFaultsWithPages, answerNotice, languageOf, type Notice as NoticePage } from './notice.ts';
import { noNoticeCookie, noticeCookie, noticeOf } from './notice-cookie.ts';
import { AGENT_FIELD, renderMe, renderResume } from './page.ts';
import type { MeView, Notice } from './view.ts';

export interface PageOptions extends Pick<MeView, 'reach' | 'scopeWords' | 'sessionTtl'> {
  readonly clock: Clock;
}

/** More tasks are on the next page. */
const TASKS_PER_PAGE = 100;

export function pageRouter(surface: Traceable<MeSurface>, options: PageOptions): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  const base = issuerPath(surface.issuer);
  serveAssets(router, ASSETS_BASE, Object.values(assets));
  const asked = (request: Request, session: BrowserSession<MePerson>): Asked => ({
    ...{ surface: forRequest(surface, request), person: session.holder, session, base, options },
  });
  const find = async (request: Request): Promise<BrowserSession<MePerson> | undefined> =>
    forRequest(surface, request).sessions?.find(request.headers.cookie ?? '', request.trace);

  /** A page. Without a session the browser goes to the sign-in. */
  const show =
    (answer: (asked: Asked, request: Request, response: Response) => Promise<void> | void): RequestHandler =>
    async (request, response, next) => {
      if (request.headers.authorization !== undefined) return next();
      const session = await find(request);
      if (session !== undefined) return answer(asked(request, session), request, response);
      if (!meCookies.hasSeveralSessions(request.headers.cookie)) return redirect(response, `${base}/me/sign-in`);
      await surface.refuse(SEVERAL_SESSIONS.reason, request.trace);
      answerNotice(response, { ...SEVERAL_SESSIONS, base });
    };

  /** A form, after which the browser opens the page again. */
  const act =
    <Params>(change: (asked: Asked, params: Params, field: Field) => Promise<Outcome>): RequestHandler<Params> =>
    async (request, response, next) => {
      if (request.headers.authorization !== undefined || !wantsPage(request)) return next();
      const form = await readFormRequest(request);
      if (form === GONE) return;
      const session = await find(request as Request);
      const field: Field = (name) => (form.kind === 'allowed' ? form.value.get(name) : undefined) ?? undefined;
      const token = field('form_token');
      if (session === undefined || !mayWrite(surface, session, request, token)) {
        const refusal = session === undefined ? noSession(request.headers.cookie) : FORM_REFUSED;
        await surface.refuse(refusal.reason, request.trace);
        return answerNotice(response, { ...refusal, base });
      }
      const outcome = await change(asked(request as Request, session), request.params, field);
      if (outcome.kind === 'refused') return answerNotice(response, { ...outcome.notice, base });
      if (outcome.notice !== undefined) response.append('Set-Cookie', noticeCookie(outcome.notice));
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
  router.use(answerFaultsWithPages(surface.log, base));
  return router;
}

/** A field of the form. `undefined` if the form cannot be read, or does not have it. */
type Field = (name: string) => string | undefined;

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

const SESSION_OVER = { status: 401, kind: 'session_over', reason: 'missing_token' } as const;
const SEVERAL_SESSIONS = { status: 400, kind: 'several_sessions', reason: 'missing_token' } as const;
const FORM_REFUSED = { status: 403, kind: 'form_refused', reason: 'invalid_form_token' } as const;
const UNKNOWN_TASK: Message = { status: 404, kind: 'unknown_task' };

function noSession(cookies: string | undefined): typeof SESSION_OVER | typeof SEVERAL_SESSIONS {
  return meCookies.hasSeveralSessions(cookies) ? SEVERAL_SESSIONS : SESSION_OVER;
}

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
  const [page, pause] = await Promise.all([
    surface.tasks(person, { after, limit: TASKS_PER_PAGE }),
    surface.pauseOf(person),
  ]);
  const notice = noticeOf(request.headers.cookie);
  if (notice !== undefined) response.append('Set-Cookie', noNoticeCookie);
  const view: MeView = {
    ...options,
    ...{ base, person: person.subject, now: options.clock.now(), formToken: session.formToken, notice },
    live: page.tasks.filter(({ state }) => state === 'live'),
    history: page.tasks.filter(({ state }) => state !== 'live'),
    next: page.nextAfter && formatAfter(page.nextAfter),
    isFirst: after === undefined,
    pausedAt: pause.own?.blockedAt,
    blockedByOthers: pause.blockedByOthers,
    canPause: surface.canPause,
    signsOutEverywhere: session.signsOutEverywhere === true,
    isPauseLiftable: isPauseLiftable(person, options.clock.now()),
    mayResume: mayResume(asked),
  };
  response.set(FORM_PAGE_HEADERS).send(renderMe(view, languageOf(request)));
}

function showResume(asked: Asked, request: Request, response: Response): void {
  const { base, person, session } = asked;
  const view = { base, person: person.subject, formToken: session.formToken, mayResume: mayResume(asked) };
  response.set(FORM_PAGE_HEADERS).send(renderResume(view, languageOf(request)));
}

/** Only the cursor of the next page is a parameter. */
function afterOf({ url }: Request): MyTasksCursor | 'malformed' | undefined {
  const [first, ...rest] = queryParameters(url);
  if (first === undefined) return undefined;
  if (first.name !== 'after' || rest.length > 0) return 'malformed';
  return parseAfter(first.value ?? '') ?? 'malformed';
}

function mayResume({ person: { authenticatedAt }, options: { clock } }: Asked): boolean {
  return authenticatedAt !== undefined && secondsBetween(authenticatedAt, clock.now()) < RESUME_MAX_AGE_SECONDS;
}

async function stop({ surface, person }: Asked, selection: MyStopSelection | undefined): Promise<Outcome> {
  const outcome = selection && (await surface.stop(person, selection));
  if (outcome?.kind !== 'ended') return { kind: 'refused', notice: UNKNOWN_TASK };
  return { kind: 'done', notice: { kind: 'stopped', tasks: outcome.tasks } };
}

async function pause({ surface, person }: Asked): Promise<Outcome> {
  if (!surface.canPause) return { kind: 'refused', notice: { status: 404, kind: 'unknown_path' } };
  const outcome = await surface.pause(person);
  if (outcome.kind === 'pause_not_liftable') {
    return { kind: 'refused', notice: { status: 409, kind: 'pause_not_liftable' } };
  }
  return { kind: 'done', notice: { kind: 'paused', tasks: outcome.revokedTasks } };
}

async function resume({ surface, person }: Asked): Promise<Outcome> {
  switch (await surface.resume(person)) {
    case 'lifted':
      return { kind: 'done', notice: { kind: 'resumed' } };
    case 'not_blocked':
      return { kind: 'done' };
    case 'sign_in_too_old':
      return { kind: 'done', to: '/me/resume' };
    case 'not_owned':
      return { kind: 'refused', notice: { status: 409, kind: 'pause_elsewhere' } };
  }
}
