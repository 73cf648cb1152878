/**
 * Routes of the person's page, relative to `/me`. They take a session only: a request with an access token goes on to
 * the API, which refuses or serves it.
 */

import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import type {
  MyAgents,
  MyAgentsQuestion,
  MyAgentTasks,
  MyAgentTasksQuestion,
} from '../../../application/me/my-agents.ts';
import type { MyTasksPage, MyTasksQuestion } from '../../../application/me/my-tasks.ts';
import type { MyStopSelection } from '../../../application/me/stop-my-tasks.ts';
import type { Clock } from '../../../application/ports/runtime.ts';
import { parseAgentId, parseApprovalId, parseTaskId } from '../../../domain/identifiers.ts';
import { isSignInDated } from '../../../domain/sessions/sign-in-age.ts';
import type { MePerson } from '../../../domain/sponsors/me-person.ts';
import { serveAssets } from '../browser/assets.ts';
import { flashCookie } from '../browser/flash.ts';
import { type FormField, type Guard, sessionOfForm, sessionOfPage } from '../browser/guards.ts';
import { FORM_PAGE_HEADERS, redirect, wantsPage } from '../browser/page-headers.ts';
import type { BrowserSession } from '../browser/session.ts';
import { readQuery } from '../message/query.ts';
import { issuerPath } from '../routes.ts';
import { agentAddress, POSITION_FIELDS, renderAgent } from './agent-page.ts';
import { renderApproval } from './approval-page.ts';
import { COMMITMENT, DECISION, type MyApprovals, readAnswer } from './approval-routes.ts';
import { ASSETS_BASE, assets } from './assets.ts';
import { approvalAddress, approvalSignIn, meCookies } from './cookies.ts';
import { renderEnded } from './ended-page.ts';
import { type MeSurface, parseAfter } from './me-router.ts';
import { renderResume } from './message-page.ts';
import { answerFaults, answerNotice, languageOf, type Notice as NoticePage } from './notice.ts';
import { renderMe } from './page.ts';
import { AGENT_FIELD } from './task-parts.ts';
import { type AgentPosition, type MeView, type Notice, noticeKinds, type PersonView } from './view.ts';

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

const flash = flashCookie('__Host-mandate-notice', noticeKinds);

const AGENTS_PER_PAGE = 20;
/** The first page shows up to this many live tasks. A person with more gets a line for each agent, and its tasks elsewhere. */
const FEW_TASKS = 5;
const TASKS_PER_PAGE = 50;
/** How many ended tasks the first page shows. Other pages have the rest. */
const LATEST_ENDED = 10;

export function pageRouter(surface: PageSurface, options: PageOptions): Router {
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
    (
      answer: (asked: Asked, request: Request, response: Response) => Promise<void>,
      signIn: (request: Request) => string = () => '/me/sign-in',
    ): RequestHandler =>
    async (request, response, next) => {
      if (request.headers.authorization !== undefined) return next();
      const session = await sessionOfPage({ ...guard, signIn: `${base}${signIn(request)}` }, request, response);
      if (session !== undefined) await answer(asked(session), request, response);
    };

  /** Handles a form. Then the browser opens the page that its outcome names, by default `/me`. */
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
  router.get('/agent', show(showAgent));
  router.get('/ended', show(showEnded));
  router.get('/resume', show(showResume));
  // The address of a refused form stays in the browser. A person who opens it again gets the tasks.
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
    act<{ taskId: string }>((asked, { taskId }, field) => stop(asked, taskOf(taskId), agentPageOf(field))),
  );
  router.post(
    '/agents/stop',
    act((asked, _params, field) => stop(asked, agentOf(field(AGENT_FIELD) ?? ''))),
  );
  router.post('/pause', act(pause));
  router.post('/resume', act(resume));
  if (surface.approvals !== undefined) serveApprovalPage(surface.approvals);
  router.use(answerFaults(surface.log, base));
  return router;

  function serveApprovalPage(approvals: MyApprovals): void {
    const signIn = ({ params }: Request) => {
      const approvalId = parseApprovalId(String(params.approvalId));
      return approvalId === undefined ? '/me/sign-in' : approvalSignIn(approvalId, 'any');
    };
    const open = show((asked, request, response) => showApproval(asked, approvals, request, response), signIn);
    router.get('/approvals/:approvalId', (request, response, next) =>
      wantsPage(request) ? open(request, response, next) : next(),
    );
    router.get('/approvals/:approvalId/answer', (request, response, next) => {
      if (request.headers.authorization !== undefined || !wantsPage(request)) next();
      else redirect(response, `${base}/me/approvals/${encodeURIComponent(request.params.approvalId)}`);
    });
    router.post(
      '/approvals/:approvalId/answer',
      act<{ approvalId: string }>((asked, { approvalId }, field) => answer(asked, approvals, approvalId, field)),
    );
  }
}

interface Asked {
  readonly surface: PageSurface;
  readonly person: MePerson;
  readonly session: BrowserSession<MePerson>;
  readonly base: string;
  readonly options: PageOptions;
}

type Message = Pick<NoticePage, 'status' | 'kind'>;

type Outcome =
  | { readonly kind: 'done'; readonly notice?: Notice; readonly to?: string | undefined }
  | { readonly kind: 'refused'; readonly notice: Message };

const UNKNOWN_TASK: Message = { status: 404, kind: 'unknown_task' };

const UNKNOWN_APPROVAL: Message = { status: 404, kind: 'unknown_approval' };

const taskOf = (text: string): MyStopSelection | undefined => {
  const taskId = parseTaskId(text);
  return taskId && { kind: 'task', taskId };
};

const agentOf = (text: string): MyStopSelection | undefined => {
  const agentId = parseAgentId(text);
  return agentId && { kind: 'sponsor_agent', agentId };
};

async function showTasks(asked: Asked, request: Request, response: Response): Promise<void> {
  const { surface, person, session, options } = asked;
  const query = readQuery(request.originalUrl, ['after']);
  const after = query.read('after', parseTaskId, UNREADABLE);
  if (query.errors.length > 0) return refuseAddress(asked, response);
  const isFirst = after === undefined;
  const live = surface.agents(person, { after, limit: AGENTS_PER_PAGE, listsTasks: FEW_TASKS });
  const [agents, ended, pause, mayResume, waiting, mayApprove] = await Promise.all([
    live,
    // Read after the live tasks: a task that ends meanwhile is then on the page twice, never missing.
    live.then(() => (isFirst ? surface.endedTasks(person, { after: undefined, limit: LATEST_ENDED }) : undefined)),
    surface.pauseOf(person),
    surface.mayResume(person),
    isFirst ? surface.approvals?.list(person) : undefined,
    surface.approvals?.mayApprove(person),
  ]);
  const view: MeView = {
    ...personView(asked, request, response),
    reach: options.reach,
    waiting: waiting ?? [],
    mayApprove: mayApprove === true,
    agents,
    isFirst,
    ended,
    pausedAt: pause.own?.blockedAt,
    blockedByOthers: pause.blockedByOthers,
    canPause: surface.canPause,
    signsOutEverywhere: session.signsOutEverywhere === true,
    isPauseLiftable: isSignInDated(person, options.clock.now()),
    mayResume,
  };
  response.set(FORM_PAGE_HEADERS).send(renderMe(view, languageOf(request)));
}

async function showAgent(asked: Asked, request: Request, response: Response): Promise<void> {
  const query = readQuery(request.originalUrl, Object.values(POSITION_FIELDS));
  const of = query.read(POSITION_FIELDS.of, parseTaskId, UNREADABLE);
  const after = query.read(POSITION_FIELDS.after, parseTaskId, UNREADABLE);
  if (query.errors.length > 0 || of === undefined) return refuseAddress(asked, response);
  const position: AgentPosition = { of, after };
  const shown = await asked.surface.agentTasks(asked.person, { ...position, limit: TASKS_PER_PAGE });
  if (shown === undefined) return answerNotice(response, { ...UNKNOWN_TASK, base: asked.base });
  const view = { ...personView(asked, request, response), position, shown };
  response.set(FORM_PAGE_HEADERS).send(renderAgent(view, languageOf(request)));
}

async function showEnded(asked: Asked, request: Request, response: Response): Promise<void> {
  const query = readQuery(request.originalUrl, ['after']);
  const after = query.read('after', parseAfter, UNREADABLE);
  if (query.errors.length > 0) return refuseAddress(asked, response);
  const ended = await asked.surface.endedTasks(asked.person, { after, limit: TASKS_PER_PAGE });
  response
    .set(FORM_PAGE_HEADERS)
    .send(renderEnded({ ...personView(asked, request, response), ended }, languageOf(request)));
}

function personView(
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

async function showApproval(asked: Asked, approvals: MyApprovals, request: Request, response: Response): Promise<void> {
  const { person, base } = asked;
  const approvalId = parseApprovalId(String(request.params.approvalId));
  const approval = approvalId && (await approvals.find(person, approvalId));
  if (approval === undefined) return answerNotice(response, { ...UNKNOWN_APPROVAL, base });
  const view = {
    ...personView(asked, request, response),
    approval,
    mayApprove: await approvals.mayApprove(person),
  };
  response.set(FORM_PAGE_HEADERS).send(renderApproval(view, languageOf(request)));
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

/** No answer has this sentence: the page for a wrong address names no parameter. */
const UNREADABLE = 'Must be that of a page.';

function refuseAddress({ base }: Asked, response: Response): void {
  answerNotice(response, { status: 400, kind: 'malformed', base });
}

/** The agent's page that the form came from. `undefined` for a form of another page. */
function agentPageOf(field: FormField): string | undefined {
  const of = parseTaskId(field(POSITION_FIELDS.of) ?? '');
  return of && agentAddress({ of, after: parseTaskId(field(POSITION_FIELDS.after) ?? '') });
}

async function stop({ surface, person }: Asked, selection: MyStopSelection | undefined, to?: string): Promise<Outcome> {
  const outcome = selection && (await surface.stop(person, selection));
  if (outcome?.kind !== 'ended') return { kind: 'refused', notice: UNKNOWN_TASK };
  return { kind: 'done', notice: { kind: 'stopped', amount: outcome.tasks }, to };
}

async function answer({ person }: Asked, approvals: MyApprovals, text: string, field: FormField): Promise<Outcome> {
  const approvalId = parseApprovalId(text);
  const given = readAnswer({ [DECISION]: field(DECISION) ?? '', [COMMITMENT]: field(COMMITMENT) ?? '' });
  if ('errors' in given) return { kind: 'refused', notice: { status: 400, kind: 'malformed' } };
  if (approvalId === undefined) return { kind: 'refused', notice: UNKNOWN_APPROVAL };
  const verdict = await approvals.answer(person, { approvalId, ...given });
  switch (verdict) {
    case 'granted':
      return { kind: 'done', notice: { kind: 'approved', amount: 0 } };
    case 'refused':
      return { kind: 'done', notice: { kind: 'declined', amount: 0 } };
    case 'sign_in_too_old':
      return { kind: 'done', to: approvalAddress(approvalId) };
    case 'not_found':
      return { kind: 'refused', notice: UNKNOWN_APPROVAL };
    case 'other_words':
    case 'not_waiting':
      return { kind: 'refused', notice: { status: 409, kind: verdict } };
  }
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
