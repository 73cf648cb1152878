/** Routes for the kill switches (specification "Admin API"): DELETE a task, all tasks of an agent, or all of a person. */

import type { Response, Router } from 'express';
import type { StopOutcome, StopSelection } from '../../../application/admin/stop-tasks.ts';
import { parseAgentId, parseTaskId } from '../../../domain/identifiers.ts';
import { discardRest } from '../message/body.ts';
import { answerProblem, methodNotAllowed } from '../message/problem-details.ts';
import { forRequest, type Traceable } from '../traceable.ts';
import { answerUnknownAgent } from './agent-representation.ts';
import { readSponsorKey } from './requests.ts';

export interface StopSurface {
  stop(selection: StopSelection): Promise<StopOutcome>;
}

export function addStopRoutes(router: Router, surface: Traceable<StopSurface>): void {
  router
    .route('/tasks/:taskId')
    .delete((request, response) => {
      discardRest(request);
      return stopTask(forRequest(surface, request), request.params.taskId, response);
    })
    .all(methodNotAllowed('DELETE'));
  router
    .route('/agents/:agentId/tasks')
    .delete((request, response) => {
      discardRest(request);
      return stopAgentTasks(forRequest(surface, request), request.params.agentId, response);
    })
    .all(methodNotAllowed('DELETE'));
  router
    .route('/sponsors/:sponsorKey/tasks')
    .delete((request, response) => {
      discardRest(request);
      return stopSponsorTasks(forRequest(surface, request), request.params.sponsorKey, response);
    })
    .all(methodNotAllowed('DELETE'));
}

async function stopTask(surface: StopSurface, id: string, response: Response): Promise<void> {
  const taskId = parseTaskId(id);
  const outcome = taskId && (await surface.stop({ kind: 'task', taskId }));
  if (outcome?.kind === 'ended') answerEnded(response, outcome.tasks);
  else answerProblem(response, { status: 404, detail: 'There is no such task.', reason: 'unknown_task' });
}

async function stopAgentTasks(surface: StopSurface, id: string, response: Response): Promise<void> {
  const agentId = parseAgentId(id);
  const outcome = agentId && (await surface.stop({ kind: 'agent', agentId }));
  if (outcome?.kind === 'ended') answerEnded(response, outcome.tasks);
  else answerUnknownAgent(response);
}

async function stopSponsorTasks(surface: StopSurface, text: string, response: Response): Promise<void> {
  const sponsorKey = readSponsorKey(text, response);
  if (sponsorKey === undefined) return;
  const outcome = await surface.stop({ kind: 'sponsor', sponsorKey });
  answerEnded(response, outcome.kind === 'ended' ? outcome.tasks : 0);
}

function answerEnded(response: Response, tasks: number): void {
  response.json({ revoked_tasks: tasks });
}
