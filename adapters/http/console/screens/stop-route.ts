/** Reads what the kill switch says first, and ends tasks. */

import type { StopOutcome } from '../../../../application/admin/stop-tasks.ts';
import { fieldErrors } from '../../../../domain/field-error.ts';
import { type AgentId, parseAgentId, parseSponsorKey, parseTaskId } from '../../../../domain/identifiers.ts';
import { SPONSOR_KEY_SENTENCE } from '../../admin/requests.ts';
import { stopPath } from '../addresses.ts';
import type { Act, Asked, Done, Show, Shown } from '../asked.ts';
import { notFound, readFilters, refusedFilters } from '../filters.ts';
import { sponsorIn, typedWrong } from './people-route.ts';
import { renderStop, renderStopChoice, type StopView } from './stop.ts';

export const showStop: Show = async (asked, request) => {
  const query = readFilters(request, ['task_id', 'agent_id', 'sponsor']);
  const taskId = query.read('task_id', parseTaskId, 'Must be a task_id: task_ and 26 characters.');
  const agentId = query.read('agent_id', parseAgentId, 'Must be an agent_id.');
  const sponsorKey = query.read('sponsor', parseSponsorKey, SPONSOR_KEY_SENTENCE);
  const given = [taskId, agentId, sponsorKey].filter((each) => each !== undefined);
  const several =
    given.length > 1 ? fieldErrors('sponsor', 'Must be the only one of task_id, agent_id and sponsor.') : [];
  const errors = [...query.errors, ...several];
  if (errors.length > 0) return refusedFilters(errors, '/stop');
  const { overview, admin } = asked;
  if (taskId !== undefined) {
    const found = await admin.showTask(taskId);
    if (found === undefined)
      return notFound('There is no such task', 'It never was, or it ended and was deleted.', '/stop');
    const { task } = found;
    const agent = await admin.find(task.agentId);
    const isLive = task.state.kind === 'live';
    const live = { tasks: isLive ? 1 : 0, lastExpiry: task.expiresAt, longestTokenTtl: agent?.maxTokenTtl };
    return shown(asked, { target: { kind: 'task', task }, live });
  }
  if (agentId !== undefined) {
    const agent = await admin.find(agentId);
    if (agent === undefined)
      return notFound('There is no such agent', 'No agent is registered under this id.', '/stop');
    const live = await overview.countLive({ agentId });
    return shown(asked, { target: { kind: 'agent', agentId, displayName: agent.displayName }, live });
  }
  if (sponsorKey !== undefined) {
    return shown(asked, { target: { kind: 'person', sponsorKey }, live: await overview.countLive({ sponsorKey }) });
  }
  return { body: renderStopChoice() };
};

function shown({ now, formToken, overview }: Asked, view: Pick<StopView, 'target' | 'live'>): Shown {
  return { body: renderStop({ ...view, now, formToken, statusLists: overview.statusLists }) };
}

export const stopTask: Act = async ({ admin }, field) => {
  const taskId = parseTaskId(field('task_id') ?? '');
  if (taskId === undefined) return ended(undefined);
  // A task that this plain read does not find is stopped all the same: only the stop knows whether there is one.
  const found = await admin.showTask(taskId);
  const mistyped = found && typedWrong(field, found.task.agentId, stopPath({ task_id: taskId }));
  return mistyped ?? ended(await admin.stop({ kind: 'task', taskId }));
};

export const stopAgent: Act = async ({ admin }, field) => {
  const agentId: AgentId | undefined = parseAgentId(field('agent_id') ?? '');
  if (agentId === undefined) return ended(undefined);
  const mistyped = typedWrong(field, agentId, stopPath({ agent_id: agentId }));
  return mistyped ?? ended(await admin.stop({ kind: 'agent', agentId }));
};

export const stopPerson: Act = async ({ admin }, field) => {
  const sponsorKey = sponsorIn(field);
  if (typeof sponsorKey !== 'string') return sponsorKey;
  const mistyped = typedWrong(field, sponsorKey, stopPath({ sponsor: sponsorKey }));
  return mistyped ?? ended(await admin.stop({ kind: 'sponsor', sponsorKey }));
};

function ended(outcome: StopOutcome | undefined): Done {
  if (outcome?.kind === 'ended') return { kind: 'done', to: '/', notice: { kind: 'stopped', amount: outcome.tasks } };
  return {
    ...{ kind: 'refused', status: 404, reason: 'not_found', title: 'There is nothing to end' },
    text: 'The task or the agent does not exist. Nothing was changed.',
  };
}
