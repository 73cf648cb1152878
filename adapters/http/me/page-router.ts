/** Routes of the person's pages and their forms, relative to `/me`, for a session (page-requests.ts). */

import express, { type Request, type Response, type Router } from 'express';
import type { MyStopSelection } from '../../../application/me/stop-my-tasks.ts';
import { parseAgentId, parseTaskId } from '../../../domain/identifiers.ts';
import { isSignInDated } from '../../../domain/sessions/sign-in-age.ts';
import { serveAssets } from '../browser/assets.ts';
import type { FormField } from '../browser/guards.ts';
import { FORM_PAGE_HEADERS } from '../browser/page-headers.ts';
import { readQuery } from '../message/query.ts';
import { issuerPath } from '../routes.ts';
import { agentAddress, POSITION_FIELDS, renderAgent } from './agent-page.ts';
import { serveApprovalPage } from './approval-page-routes.ts';
import { ASSETS_BASE, assets } from './assets.ts';
import { renderEnded } from './ended-page.ts';
import { parseAfter } from './me-router.ts';
import { renderResume } from './message-page.ts';
import { answerFaults, answerNotice, languageOf } from './notice.ts';
import { renderMe } from './page.ts';
import {
  type Asked,
  type Message,
  type Outcome,
  type PageOptions,
  type PageSurface,
  pageRequests,
  personView,
} from './page-requests.ts';
import { AGENT_FIELD } from './task-parts.ts';
import type { AgentPosition, MeView } from './view.ts';

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
  const requests = pageRequests(surface, options);
  const { show, act, leadTo } = requests;
  router.get('/', show(showTasks));
  router.get('/agent', show(showAgent));
  router.get('/ended', show(showEnded));
  router.get('/resume', show(showResume));
  router.get(
    ['/tasks/stop', '/tasks/:taskId/stop', '/agents/stop', '/pause'],
    leadTo(() => '/me'),
  );
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
  if (surface.approvals !== undefined) serveApprovalPage(router, surface.approvals, requests);
  router.use(answerFaults(surface.log, base));
  return router;
}

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
    waiting: waiting?.waiting ?? [],
    altered: waiting?.altered ?? 0,
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
