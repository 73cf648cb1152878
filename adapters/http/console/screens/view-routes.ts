/** Reads what the screens Delegation, Task and Agents show, from the use cases of the API. */

import type { Request } from 'express';
import { type FieldError, fieldErrors } from '../../../../domain/field-error.ts';
import { type AgentId, parseAgentId, parseSponsorKey, parseTaskId } from '../../../../domain/identifiers.ts';
import type { Instant } from '../../../../domain/instant.ts';
import type { LedgerRecord } from '../../../../domain/ledger/record.ts';
import { parseRangeEnd, parseRangeStart } from '../../../../domain/ledger/time-range.ts';
import { delegationsOf } from '../../../../domain/tasks/delegation-graph.ts';
import { timelineOf } from '../../../../domain/tasks/timeline.ts';
import { POINT_SENTENCE } from '../../admin/audit-router.ts';
import { parseState, STATE_SENTENCE } from '../../admin/reading-routes.ts';
import { SPONSOR_KEY_SENTENCE } from '../../admin/requests.ts';
import { AUDIENCE_SENTENCE, parseAudience, parseOrdinal } from '../../message/query.ts';
import { agentPath, taskPath } from '../addresses.ts';
import type { Act, Asked, Field, ReadForm, Shown, Shows } from '../asked.ts';
import { notFound, readFilters, refusedFilters } from '../filters.ts';
import { type ReadFormName, screens } from '../screens.ts';
import { renderAgent, renderAgents } from './agents.ts';
import { renderComparison } from './comparison.ts';
import { type DelegationFilters, renderDelegation } from './delegation.ts';
import { renderRecord } from './record.ts';
import { renderTask } from './task.ts';

export const viewShows = { delegation, agents, agent, task, record } as const satisfies Partial<Shows>;

const AGENT_ID_SENTENCE = 'Must be an agent_id.';

async function delegation(asked: Asked, request: Request): Promise<Shown> {
  const query = readFilters(request, ['sponsor', 'agent_id', 'audience', 'from', 'to', 'state']);
  const filters = {
    sponsorKey: query.read('sponsor', parseSponsorKey, SPONSOR_KEY_SENTENCE),
    agentId: query.read('agent_id', parseAgentId, AGENT_ID_SENTENCE),
    audience: query.read('audience', parseAudience, AUDIENCE_SENTENCE),
    state: query.read('state', parseState, STATE_SENTENCE),
  };
  const from = query.read('from', parseRangeStart, POINT_SENTENCE);
  const to = query.read('to', parseRangeEnd, POINT_SENTENCE);
  const raw = (name: keyof DelegationFilters) => query.read(name, (text) => text, '');
  const errors = [...query.errors, ...wrongWindow(from, to)];
  if (errors.length > 0) return refusedFilters(errors, screens.delegation.path);
  const window = from === undefined ? undefined : { from, to: to ?? asked.now };
  const { tasks, isComplete } = await asked.views.delegations({ ...filters, window });
  return {
    body: renderDelegation({
      filters: {
        ...{ sponsor: raw('sponsor'), agent_id: raw('agent_id'), audience: raw('audience') },
        ...{ from: raw('from'), to: raw('to'), state: raw('state') },
      },
      ...{ ...delegationsOf(tasks), tasks: tasks.length, isComplete },
      ...{ mayStop: asked.may('responder'), now: asked.now },
    }),
  };
}

function wrongWindow(from: Instant | undefined, to: Instant | undefined): readonly FieldError[] {
  if (to === undefined) return [];
  if (from === undefined) return fieldErrors('from', 'Must be set where to is.');
  return to < from ? fieldErrors('to', 'Must not be before from.') : [];
}

/** As many as fit a page that people read. */
const AGENTS_PER_PAGE = 100;
const TASKS_OF_AGENT = 50;

async function agents(asked: Asked, request: Request): Promise<Shown> {
  const query = readFilters(request, ['after']);
  const after = query.read('after', parseAgentId, AGENT_ID_SENTENCE);
  if (query.errors.length > 0) return refusedFilters(query.errors, screens.agents.path);
  const { agents, nextAfter } = await asked.admin.list({ after, limit: AGENTS_PER_PAGE });
  return { body: renderAgents({ agents, nextAfter, formToken: asked.formToken, now: asked.now }) };
}

async function agent(asked: Asked, request: Request): Promise<Shown> {
  const query = readFilters(request, []);
  const agentId = parseAgentId(String(request.params.agentId));
  if (query.errors.length > 0) return refusedFilters(query.errors, screens.agents.path);
  const [agent, page] =
    agentId === undefined ? [] : await Promise.all([asked.admin.find(agentId), liveTasksOf(asked, agentId)]);
  if (agent === undefined || page === undefined) {
    return notFound('There is no such agent', 'It was never registered, or has been deleted.', screens.agents.path);
  }
  return {
    title: agent.displayName,
    body: renderAgent({
      ...{ agent, tasks: page.tasks, hasMoreTasks: page.hasMore },
      ...{ mayChange: asked.may('registrar'), mayStop: asked.may('responder') },
      ...{ formToken: asked.formToken, now: asked.now },
    }),
  };
}

async function liveTasksOf({ admin }: Asked, agentId: AgentId) {
  const page = await admin.listTasks({ filters: { agentId, state: 'live' }, limit: TASKS_OF_AGENT, cursor: undefined });
  if (page.kind === 'foreign_cursor') return { tasks: [], hasMore: false };
  return { tasks: page.items, hasMore: page.nextCursor !== undefined };
}

async function task(asked: Asked, request: Request): Promise<Shown> {
  const query = readFilters(request, []);
  if (query.errors.length > 0) return refusedFilters(query.errors, screens.delegation.path);
  const taskId = parseTaskId(String(request.params.taskId));
  const shown = taskId && (await asked.admin.showTask(taskId));
  if (shown === undefined) {
    const text =
      'It was never issued, or it ended so long ago that it has been deleted. Its records stay in the ledger.';
    return notFound('There is no such task', text, screens.delegation.path);
  }
  const { task } = shown;
  const [agent, records] = await Promise.all([asked.admin.find(task.agentId), recordsOf(asked, task.taskId)]);
  const ttl = { registered: agent?.maxTokenTtl, since: agent?.updatedAt, longest: asked.views.longestTokenTtl };
  return {
    body: renderTask({
      ...{ task, agent, records, recordCount: shown.records.length, hasMoreRecords: shown.nextCursor !== undefined },
      timeline: timelineOf(task, ttl, records, asked.now),
      statusLists: asked.views.statusLists,
      ...{ mayStop: asked.may('responder'), now: asked.now },
    }),
  };
}

/** As many as the API numbers with the task. */
const MAX_RECORDS = 1000;

/** Oldest first; `undefined` without the role to read the ledger. */
async function recordsOf(asked: Asked, taskId: NonNullable<ReturnType<typeof parseTaskId>>) {
  if (!asked.may('auditor')) return undefined;
  const answer = await asked.audit.query({ filters: { taskId }, limit: MAX_RECORDS, cursor: undefined });
  return answer.kind === 'page' ? answer.records : [];
}

async function record(asked: Asked, request: Request): Promise<Shown> {
  const query = readFilters(request, []);
  if (query.errors.length > 0) return refusedFilters(query.errors, screens.delegation.path);
  const taskId = parseTaskId(String(request.params.taskId));
  const seq = parseOrdinal(String(request.params.seq));
  const found: LedgerRecord | undefined =
    taskId && seq !== undefined ? (await recordsOf(asked, taskId))?.find((each) => each.seq === seq) : undefined;
  if (taskId === undefined || found === undefined) {
    const text = 'No record of this task has this number, or it is not among the oldest thousand.';
    return notFound('There is no such record', text, taskId === undefined ? screens.delegation.path : taskPath(taskId));
  }
  return {
    title: `Record ${found.seq}`,
    body: renderRecord({ taskId, record: found, proof: await asked.audit.prove(found.seq) }),
  };
}

export const viewReads = {
  compare: async (asked, file) => ({ body: renderComparison(await asked.views.compare('The file', file)) }),
} as const satisfies Readonly<Record<ReadFormName, ReadForm>>;

/** The form that disables or enables an agent. */
function changeEnabled(enabled: boolean): Act {
  return async (asked: Asked, field: Field) => {
    const agentId = parseAgentId(field('agent_id') ?? '');
    const outcome = agentId && (await asked.admin.update(agentId, { enabled }));
    switch (outcome?.kind) {
      case 'updated':
        return {
          kind: 'done',
          to: agentPath(outcome.agent.agentId),
          notice: { kind: enabled ? 'agent_enabled' : 'agent_disabled', amount: 1 },
        };
      case 'invalid':
        return {
          ...{ kind: 'refused', status: 400, reason: 'invalid_fields', errors: outcome.errors },
          title: 'The agent was not changed',
          text: 'Its registration breaks the rules of this service as they are now.',
          back: agentPath(agentId ?? ''),
        };
      case 'kept_changing':
        return {
          ...{ kind: 'refused', status: 503, reason: 'agent_kept_changing', back: agentPath(agentId ?? '') },
          title: 'The agent was not changed',
          text: 'Other changes of this agent were stored first. Look at it, and try again.',
        };
      default:
        return {
          ...{ kind: 'refused', status: 404, reason: 'unknown_agent' },
          title: 'There is no such agent',
          text: 'Nothing was changed.',
        };
    }
  };
}

export const viewActs = { disableAgent: changeEnabled(false), enableAgent: changeEnabled(true) } as const;
