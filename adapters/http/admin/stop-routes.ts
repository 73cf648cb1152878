/**
 * Routes for the kill switches (specification "Admin API"): DELETE a task, all tasks of an agent, all of a person, or all
 * tasks of all people.
 */

import type { Response } from 'express';
import type { EverythingOutcome } from '../../../application/admin/stop-everything.ts';
import type { StopOutcome, StopSelection } from '../../../application/admin/stop-tasks.ts';
import { parseAgentId, parseTaskId } from '../../../domain/identifiers.ts';
import { discardRest, hasBody } from '../message/body.ts';
import { CONFLICT_RETRY_AFTER } from '../message/faults.ts';
import { type Answer, answerInvalid, answerProblem } from '../message/problem-details.ts';
import { readQuery } from '../message/query.ts';
import { answerUnknownAgent } from './agent-representation.ts';
import { type Changes, type OperatorRequest, readSponsorKey } from './operator-router.ts';
import { answerUnknownTask } from './reading-routes.ts';

export interface StopSurface {
  stop(selection: StopSelection): Promise<StopOutcome>;
  stopEverything(): Promise<EverythingOutcome>;
}

async function stopAllTasks(surface: StopSurface, request: OperatorRequest): Promise<Answer> {
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

async function stopTask(surface: StopSurface, request: OperatorRequest): Promise<Answer> {
  discardRest(request);
  const taskId = parseTaskId(request.params.taskId);
  const outcome = taskId && (await surface.stop({ kind: 'task', taskId }));
  return outcome?.kind === 'ended' ? ended(outcome.tasks) : answerUnknownTask;
}

async function stopAgentTasks(surface: StopSurface, request: OperatorRequest): Promise<Answer> {
  discardRest(request);
  const agentId = parseAgentId(request.params.agentId);
  const outcome = agentId && (await surface.stop({ kind: 'agent', agentId }));
  return outcome?.kind === 'ended' ? ended(outcome.tasks) : answerUnknownAgent;
}

async function stopSponsorTasks(surface: StopSurface, request: OperatorRequest): Promise<Answer> {
  discardRest(request);
  const sponsorKey = readSponsorKey(request.params.sponsorKey);
  if (typeof sponsorKey === 'function') return sponsorKey;
  const outcome = await surface.stop({ kind: 'sponsor', sponsorKey });
  return ended(outcome.kind === 'ended' ? outcome.tasks : 0);
}

function ended(tasks: number): Answer {
  return (response) => void response.json({ revoked_tasks: tasks });
}

export const stopChanges: Changes<StopSurface> = {
  'DELETE /admin/tasks': stopAllTasks,
  'DELETE /admin/tasks/{task_id}': stopTask,
  'DELETE /admin/agents/{agent_id}/tasks': stopAgentTasks,
  'DELETE /admin/sponsors/{sponsor_key}/tasks': stopSponsorTasks,
};
