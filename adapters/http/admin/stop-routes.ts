/**
 * Routes for the kill switches (specification "Admin API"): DELETE a task, all tasks of an agent, all of a person, or all
 * tasks of all people.
 */

import type { Request, Response, Router } from 'express';
import type { EverythingOutcome } from '../../../application/admin/stop-everything.ts';
import type { StopOutcome, StopSelection } from '../../../application/admin/stop-tasks.ts';
import { parseAgentId, parseTaskId } from '../../../domain/identifiers.ts';
import type { ActedOn } from '../acted-on.ts';
import { discardRest, hasBody } from '../message/body.ts';
import { CONFLICT_RETRY_AFTER } from '../message/faults.ts';
import { type Answer, answerInvalid, answerProblem, methodNotAllowed } from '../message/problem-details.ts';
import { readQuery } from '../message/query.ts';
import { answerUnknownAgent } from './agent-representation.ts';
import { requireOperator } from './operators.ts';
import { answerUnknownTask, listTasks, type ReadingSurface, showTask } from './reading-routes.ts';
import { changing, readSponsorKey, type Settling } from './requests.ts';

export interface StopSurface extends ReadingSurface, Settling {
  stop(selection: StopSelection): Promise<StopOutcome>;
  stopEverything(): Promise<EverythingOutcome>;
}

export function addStopRoutes(router: Router, surface: ActedOn<StopSurface>): void {
  const hasReading = surface.operators !== undefined;
  const allowed = methodNotAllowed(hasReading ? 'GET, HEAD, DELETE' : 'DELETE');
  const everything = router.route('/tasks').delete(changing(surface, 'DELETE /admin/tasks', stopAllTasks));
  // Without `Service:Operators` the path is unknown to other methods.
  if (hasReading) {
    everything
      .get(requireOperator(surface.operators, 'GET /admin/tasks'), (request, response) =>
        listTasks(surface, request, response),
      )
      .all(methodNotAllowed('GET, HEAD, DELETE'));
  }
  router
    .route('/tasks/:taskId')
    .get(hasReading ? requireOperator(surface.operators, 'GET /admin/tasks/{task_id}') : allowed, (request, response) =>
      showTask(surface, request.params.taskId, response),
    )
    .delete(changing(surface, 'DELETE /admin/tasks/{task_id}', stopTask))
    .all(allowed);
  router
    .route('/agents/:agentId/tasks')
    .delete(changing(surface, 'DELETE /admin/agents/{agent_id}/tasks', stopAgentTasks))
    .all(methodNotAllowed('DELETE'));
  router
    .route('/sponsors/:sponsorKey/tasks')
    .delete(changing(surface, 'DELETE /admin/sponsors/{sponsor_key}/tasks', stopSponsorTasks))
    .all(methodNotAllowed('DELETE'));
}

async function stopAllTasks(surface: StopSurface, request: Request): Promise<Answer> {
  discardRest(request);
  // The caller means a filter, as the list of tasks has them. Ignoring it would end all tasks.
  const { errors } = readQuery(request.originalUrl, []);
  if (errors.length > 0) return (response) => answerInvalid(response, errors);
  if (hasBody(request)) {
    const detail = 'This request ends all tasks, and takes no body.';
    return (response) => answerProblem(response, { status: 400, detail, reason: 'unexpected_body' });
  }
  const { kind, tasks } = await surface.stopEverything();
  return kind === 'ended' ? ended(tasks) : (response) => answerMoreTasks(tasks, response);
}

function answerMoreTasks(tasks: number, response: Response): void {
  response.set('Retry-After', String(CONFLICT_RETRY_AFTER));
  answerProblem(response, {
    status: 503,
    error: 'temporarily_unavailable',
    detail:
      'Time was up before all tasks had ended: revoked_tasks says how many have. Repeat the request to end the rest.',
    revokedTasks: tasks,
    reason: 'tasks_left',
  });
}

async function stopTask(surface: StopSurface, request: Request<{ taskId: string }>): Promise<Answer> {
  discardRest(request);
  const taskId = parseTaskId(request.params.taskId);
  const outcome = taskId && (await surface.stop({ kind: 'task', taskId }));
  return outcome?.kind === 'ended' ? ended(outcome.tasks) : answerUnknownTask;
}

async function stopAgentTasks(surface: StopSurface, request: Request<{ agentId: string }>): Promise<Answer> {
  discardRest(request);
  const agentId = parseAgentId(request.params.agentId);
  const outcome = agentId && (await surface.stop({ kind: 'agent', agentId }));
  return outcome?.kind === 'ended' ? ended(outcome.tasks) : answerUnknownAgent;
}

async function stopSponsorTasks(surface: StopSurface, request: Request<{ sponsorKey: string }>): Promise<Answer> {
  discardRest(request);
  const sponsorKey = readSponsorKey(request.params.sponsorKey);
  if (typeof sponsorKey === 'function') return sponsorKey;
  const outcome = await surface.stop({ kind: 'sponsor', sponsorKey });
  return ended(outcome.kind === 'ended' ? outcome.tasks : 0);
}

function ended(tasks: number): Answer {
  return (response) => void response.json({ revoked_tasks: tasks });
}
