/** Routes of `/me`, relative to that path: a person's own tasks, pause and records. */

import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import type { MyTask } from '../../../application/me/my-tasks.ts';
import type { MyStopSelection } from '../../../application/me/stop-my-tasks.ts';
import { describeDenial } from '../../../domain/denial.ts';
import { parseAgentId, parseTaskId } from '../../../domain/identifiers.ts';
import { toShortText } from '../../../domain/instant.ts';
import { parseCursor } from '../../../domain/ledger/page-cursor.ts';
import { formatScope } from '../../../domain/scope.ts';
import { RESUME_MAX_AGE_SECONDS } from '../../../domain/sessions/sign-in-age.ts';
import { presentBlock } from '../../../domain/sponsors/block.ts';
import type { MePerson } from '../../../domain/sponsors/me-person.ts';
import { isOwnForm } from '../browser/own-form.ts';
import { discardRest } from '../message/body.ts';
import { CAPACITY_RETRY_AFTER } from '../message/faults.ts';
import { neverStored, singleHeader } from '../message/head.ts';
import { answerProof, answerRecords } from '../message/ledger-answers.ts';
import {
  answerFaults,
  answerInvalid,
  answerProblem,
  methodNotAllowed,
  unknownPath,
} from '../message/problem-details.ts';
import { CURSOR, parseOrdinal, parsePageSize, readPage, readQuery } from '../message/query.ts';
import { presentAuthorization } from '../message/task-authorization.ts';
import { serveApprovals } from './approval-routes.ts';
import { serveDelegation } from './delegation-routes.ts';
import { type Identified, identify } from './identify.ts';
import type { AnswerBrowser } from './message.ts';
import { formatAfter, parseAfter } from './parameters.ts';
import type { MeSurface } from './surface.ts';

/** What `/me` has for browsers. */
interface Pages {
  /** The routes of the page, which come first. */
  readonly router: Router;
  readonly answerBrowser: AnswerBrowser;
}

/** @param pages `undefined` without `Service:Me:ClientId` */
export function meRouter(surface: MeSurface, pages?: Pages): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  router.use(neverStored);
  if (pages !== undefined) {
    // The page's router would answer OPTIONS without a credential, and name only its own methods.
    router.use((request, response, next) =>
      request.method === 'OPTIONS' ? next() : pages.router(request, response, next),
    );
  }
  router.use(requirePerson(surface, pages));
  const as =
    <Params>(handle: (asked: Asked, request: Request<Params>, response: Response) => Promise<void>) =>
    (request: Request<Params>, response: Response) => {
      discardRest(request);
      return handle({ surface, person: personOf(response) }, request, response);
    };
  router
    .route('/tasks')
    .get(as(listTasks))
    .delete(as((asked, _request, response) => stop(asked, { kind: 'sponsor' }, response)))
    .all(methodNotAllowed('GET, HEAD, DELETE'));
  router.route('/tasks/:taskId').delete(as(stopTask)).all(methodNotAllowed('DELETE'));
  router.route('/agents/:agentId/tasks').delete(as(stopAgent)).all(methodNotAllowed('DELETE'));
  router.route('/pause').put(as(pause)).delete(as(resume)).all(methodNotAllowed('PUT, DELETE'));
  router.route('/records').get(as(listRecords)).all(methodNotAllowed('GET, HEAD'));
  router.route('/records/:seq/proof').get(as(proof)).all(methodNotAllowed('GET, HEAD'));
  if (surface.delegation !== undefined) serveDelegation(router, surface.delegation, personOf);
  if (surface.approvals !== undefined) serveApprovals(router, surface.approvals, personOf);
  router.use((request, response, next) => {
    if (!pages?.answerBrowser(response, { status: 404, kind: 'unknown_path' })) unknownPath(request, response, next);
  });
  router.use(answerFaults(surface.log));
  return router;
}

interface Asked {
  readonly surface: MeSurface;
  readonly person: MePerson;
}

/** Checks the credential before the path and the query are read. */
function requirePerson(surface: MeSurface, pages: Pages | undefined): RequestHandler {
  return async (request, response, next) => {
    const identified = await identify(surface, request);
    if (identified.kind === 'refused') {
      discardRest(request);
      await surface.refuse(identified.reason, request.trace);
      const isBrowser =
        identified.reason === 'missing_token' && pages?.answerBrowser(response, { status: 401, kind: 'session_over' });
      if (!isBrowser) answerUnidentified(response, identified);
      return;
    }
    const formToken = singleHeader(request, 'mandate-form-token');
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const given = formToken.kind === 'present' ? formToken.value : undefined;
    const expected = identified.session?.formToken;
    if (!isRead && expected !== undefined && !isOwnForm(request, surface.issuer, { given, expected })) {
      discardRest(request);
      await surface.refuse('invalid_form_token', request.trace);
      answerProblem(response, {
        status: 403,
        error: 'invalid_form_token',
        detail: 'A change with a session must come from the page of this service, with its form token.',
        reason: 'invalid_form_token',
      });
      return;
    }
    response.locals.person = identified.person;
    next();
  };
}

function personOf({ locals }: Response): MePerson {
  return locals.person;
}

/** RFC 6750 §3.1: a request without a token gets no error code in its challenge. */
function answerUnidentified(
  response: Response,
  { reason, fault }: Extract<Identified, { readonly kind: 'refused' }>,
): void {
  if (reason === 'subject_keys_unavailable') {
    const { error, sentence } = describeDenial(reason);
    response.set('Retry-After', String(CAPACITY_RETRY_AFTER));
    answerProblem(response, { status: 503, error, detail: sentence, reason });
    return;
  }
  const isMissing = reason === 'missing_token';
  // RFC 6750 §3.1 has one code for all tokens that are not acceptable.
  const error = reason === 'token_audience_mismatch' ? 'invalid_token' : reason;
  response.set('WWW-Authenticate', isMissing ? 'Bearer' : `Bearer error="${error}"`);
  const detail = isMissing
    ? 'This path needs an access token for the audience of /me, or a session.'
    : 'The access token is not acceptable here: it must be your own, for the audience of /me alone.';
  answerProblem(response, { status: 401, error, detail, reason: fault ?? reason });
}

const AFTER = 'after';
/** The largest page of tasks, and the page if the request names no size. */
const MAX_TASKS = 100;

async function listTasks({ surface, person }: Asked, request: Request, response: Response): Promise<void> {
  const query = readQuery(request.originalUrl, ['limit', AFTER]);
  const limit = query.read('limit', parseTaskLimit, `Must be an integer from 1 to ${MAX_TASKS}.`) ?? MAX_TASKS;
  const after = query.read(AFTER, parseAfter, 'Must be the next_after of a page.');
  if (query.errors.length > 0) return answerInvalid(response, query.errors);
  const page = await surface.tasks(person, { after, limit });
  const refused = await surface.delegation?.refusedAmong(
    person,
    page.tasks.map(({ agentId }) => agentId),
  );
  response.json({
    tasks: page.tasks.map((task) => ({
      ...presentTask(surface, task),
      ...(refused && {
        parent_task_id: task.parentTaskId ?? null,
        delegation_refused: refused.has(task.agentId),
      }),
    })),
    next_after: page.nextAfter === undefined ? null : formatAfter(page.nextAfter),
  });
}

function parseTaskLimit(text: string): number | undefined {
  const limit = parsePageSize(text);
  return limit !== undefined && limit <= MAX_TASKS ? limit : undefined;
}

function presentTask(surface: MeSurface, task: MyTask): Record<string, unknown> {
  const { presentsPurposes } = surface;
  const { purpose } = task;
  return {
    task_id: task.taskId,
    agent_id: task.agentId,
    display_name: task.displayName ?? null,
    audience: task.audience,
    scope: formatScope(task.scope),
    started_at: toShortText(task.startedAt),
    expires_at: toShortText(task.expiresAt),
    state: task.state,
    ended_at: task.endedAt === undefined ? null : toShortText(task.endedAt),
    reason: task.reason ?? null,
    renewals: task.renewals,
    ...((purpose !== undefined || presentsPurposes) && { purpose: purpose ?? null }),
    ...presentAuthorization(surface, task),
  };
}

async function stop({ surface, person }: Asked, selection: MyStopSelection, response: Response): Promise<void> {
  const outcome = await surface.stop(person, selection);
  if (outcome.kind === 'ended') response.json({ revoked_tasks: outcome.tasks });
  else answerUnknownTask(response);
}

async function stopTask(asked: Asked, request: Request<{ taskId: string }>, response: Response): Promise<void> {
  const taskId = parseTaskId(request.params.taskId);
  if (taskId === undefined) answerUnknownTask(response);
  else await stop(asked, { kind: 'task', taskId }, response);
}

async function stopAgent(asked: Asked, request: Request<{ agentId: string }>, response: Response): Promise<void> {
  const agentId = parseAgentId(request.params.agentId);
  if (agentId === undefined) response.json({ revoked_tasks: 0 });
  else await stop(asked, { kind: 'sponsor_agent', agentId }, response);
}

function answerUnknownTask(response: Response): void {
  answerProblem(response, { status: 404, detail: 'You have no such task.', reason: 'unknown_task' });
}

async function pause({ surface, person }: Asked, _request: Request, response: Response): Promise<void> {
  if (!surface.canPause) {
    const detail = 'People cannot pause their agents here: Service:Me:Pause is false.';
    return answerProblem(response, { status: 404, detail, reason: 'pause_disabled' });
  }
  const outcome = await surface.pause(person);
  if (outcome.kind === 'pause_not_liftable') {
    const error = outcome.kind;
    const detail = 'Your sign-in does not say when it was, so you could never lift the pause. Nothing was changed.';
    return answerProblem(response, { status: 409, error, detail, reason: error });
  }
  response.json({ sponsor: outcome.own && presentBlock(outcome.own), revoked_tasks: outcome.revokedTasks });
}

async function resume({ surface, person }: Asked, _request: Request, response: Response): Promise<void> {
  switch (await surface.resume(person)) {
    case 'lifted':
      response.status(204).end();
      return;
    case 'not_blocked':
      return answerProblem(response, {
        status: 404,
        detail: 'You have not paused your agents.',
        reason: 'not_blocked',
      });
    case 'not_owned':
      return answerProblem(response, {
        status: 409,
        detail: 'Your organisation blocks your agents. Only it can lift that, and until then you cannot resume.',
        reason: 'sponsor_block_not_owned',
      });
    case 'sign_in_too_old': {
      // RFC 9470 §3
      const error = 'insufficient_user_authentication';
      response.set('WWW-Authenticate', `Bearer error="${error}", max_age=${RESUME_MAX_AGE_SECONDS}`);
      const detail = `Sign in again: agents resume only within ${RESUME_MAX_AGE_SECONDS} seconds of signing in.`;
      return answerProblem(response, { status: 401, error, detail, reason: 'sign_in_too_old' });
    }
  }
}

async function listRecords({ surface, person }: Asked, request: Request, response: Response): Promise<void> {
  const query = readQuery(request.originalUrl, ['limit', CURSOR]);
  const page = readPage(query, parseCursor);
  if (query.errors.length > 0) return answerInvalid(response, query.errors);
  answerRecords(response, await surface.records(person, page));
}

async function proof({ surface, person }: Asked, request: Request<{ seq: string }>, response: Response): Promise<void> {
  const seq = parseOrdinal(request.params.seq);
  const outcome = seq === undefined ? undefined : await surface.prove(person, seq);
  if (outcome === undefined || outcome.kind === 'not_found') {
    const detail = 'No sealed record with this number is about you.';
    return answerProblem(response, { status: 404, detail, reason: 'unknown_record' });
  }
  answerProof(surface.log, request, response, outcome);
}
