/** Routes for the kill switches (specification "Admin API"): DELETE a task, all tasks of an agent, or all of a person. */

import type { Request, Router } from 'express';
import type { StopOutcome, StopSelection } from '../../../application/admin/stop-tasks.ts';
import { parseAgentId, parseTaskId } from '../../../domain/identifiers.ts';
import type { ActedOn } from '../acted-on.ts';
import { discardRest } from '../message/body.ts';
import { methodNotAllowed } from '../message/problem-details.ts';
import { answerUnknownAgent } from './agent-representation.ts';
import { requireOperator } from './operators.ts';
import { answerUnknownTask, type ReadingSurface, showTask } from './reading-routes.ts';
import { type Answer, changing, readSponsorKey, type Settling } from './requests.ts';

export interface StopSurface extends ReadingSurface, Settling {
  stop(selection: StopSelection): Promise<StopOutcome>;
}

export function addStopRoutes(router: Router, surface: ActedOn<StopSurface>): void {
  const hasReading = surface.operators !== undefined;
  const allowed = methodNotAllowed(hasReading ? 'GET, HEAD, DELETE' : 'DELETE');
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
