/**
 * What operators and their console read: tasks and blocks in pages. The paths exist only with `Service:Operators`, that of a
 * tree only with `Service:Delegation`.
 */

import type { Response } from 'express';
import type { ListBlocksQuestion } from '../../../application/admin/list-blocks.ts';
import type { ListPage } from '../../../application/admin/list-page.ts';
import type { ListTasksQuestion, TaskTreeQuestion, TaskWithRecords } from '../../../application/admin/list-tasks.ts';
import type { ListedTask, ShownTask, TreeTask } from '../../../application/ports/tasks.ts';
import { parseAgentId, parseSponsorKey, parseTaskId, type TaskId } from '../../../domain/identifiers.ts';
import { toShortText } from '../../../domain/instant.ts';
import { parseListCursor } from '../../../domain/list-cursor.ts';
import { formatScope } from '../../../domain/scope.ts';
import { blockSources, parseBlockSource, presentBlock, type SponsorBlock } from '../../../domain/sponsors/block.ts';
import { endReasonOf } from '../../../domain/tasks/lifetime.ts';
import { parentOf, type TaskState, taskStates } from '../../../domain/tasks/task.ts';
import { answerInvalid, answerProblem } from '../message/problem-details.ts';
import {
  AUDIENCE_SENTENCE,
  answerForeignCursor,
  CURSOR,
  parseAudience,
  readPage,
  readQuery,
} from '../message/query.ts';
import { type PresentsAuthorizations, presentAuthorization } from '../message/task-authorization.ts';
import { type OperatorRequest, type Reads, SPONSOR_KEY_SENTENCE } from './operator-router.ts';

export interface ReadingSurface extends PresentsAuthorizations {
  listTasks(question: ListTasksQuestion): Promise<ListPage<ListedTask>>;
  showTask(taskId: TaskId): Promise<TaskWithRecords | undefined>;
  /** `undefined` without `Service:Delegation:Enabled`. */
  readonly taskTree:
    | ((question: TaskTreeQuestion) => Promise<ListPage<TreeTask> | { readonly kind: 'not_found' }>)
    | undefined;
  /** Whether agents may state purposes. If not, a task shows the purpose that was stored while they could. */
  readonly presentsPurposes: boolean;
  listBlocks(question: ListBlocksQuestion): Promise<ListPage<SponsorBlock>>;
}

async function listTasks(surface: ReadingSurface, request: OperatorRequest, response: Response): Promise<void> {
  const query = readQuery(request.originalUrl, ['agent_id', 'sponsor', 'audience', 'state', 'limit', CURSOR]);
  const filters = {
    agentId: query.read('agent_id', parseAgentId, 'Must be an agent_id.'),
    sponsorKey: query.read('sponsor', parseSponsorKey, SPONSOR_KEY_SENTENCE),
    audience: query.read('audience', parseAudience, AUDIENCE_SENTENCE),
    state: query.read('state', parseState, STATE_SENTENCE) ?? 'live',
  };
  const page = readPage(query, parseListCursor);
  if (query.errors.length > 0) return answerInvalid(response, query.errors);
  answerPage(response, 'tasks', presentTask, await surface.listTasks({ filters, ...page }));
}

async function showTask(surface: ReadingSurface, request: OperatorRequest, response: Response): Promise<void> {
  const taskId = parseTaskId(request.params.taskId);
  const found = taskId && (await surface.showTask(taskId));
  if (found === undefined) return answerUnknownTask(response);
  response.json({
    ...presentTask(found.task),
    ...presentPurpose(surface, found.task),
    ...presentAuthorization(surface, found.task),
    records: found.records,
    next_cursor: found.nextCursor ?? null,
  });
}

async function taskTree(surface: ReadingSurface, request: OperatorRequest, response: Response): Promise<void> {
  const taskId = parseTaskId(request.params.taskId);
  const query = readQuery(request.originalUrl, ['limit', CURSOR]);
  const page = readPage(query, parseListCursor);
  if (query.errors.length > 0) return answerInvalid(response, query.errors);
  const found = taskId && (await surface.taskTree?.({ taskId, ...page }));
  if (found === undefined || found.kind === 'not_found') return answerUnknownTask(response);
  answerPage(response, 'tasks', presentTreeTask, found);
}

function presentTreeTask(task: TreeTask): Record<string, unknown> {
  return {
    task_id: task.taskId,
    parent_task_id: task.parentTaskId ?? null,
    agent_id: task.agentId,
    audience: task.audience,
    state: task.state.kind,
    delegation_depth: task.delegationDepth,
  };
}

export function answerUnknownTask(response: Response): void {
  answerProblem(response, { status: 404, detail: 'There is no such task.', reason: 'unknown_task' });
}

async function blocks(surface: ReadingSurface, request: OperatorRequest, response: Response): Promise<void> {
  const query = readQuery(request.originalUrl, ['source', 'limit', CURSOR]);
  const source = query.read('source', parseBlockSource, `Must be ${anyOf(blockSources)}.`);
  const page = readPage(query, parseListCursor);
  if (query.errors.length > 0) return answerInvalid(response, query.errors);
  answerPage(response, 'sponsors', presentBlock, await surface.listBlocks({ source, ...page }));
}

function answerPage<Item>(
  response: Response,
  name: string,
  present: (item: Item) => Record<string, unknown>,
  page: ListPage<Item>,
): void {
  if (page.kind === 'foreign_cursor') answerForeignCursor(response);
  else response.json({ [name]: page.items.map(present), next_cursor: page.nextCursor ?? null });
}

export const STATE_SENTENCE = `Must be ${anyOf(taskStates)}.`;

export function parseState(text: string): TaskState['kind'] | undefined {
  return taskStates.find((state) => state === text);
}

function anyOf(words: readonly string[]): string {
  return `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}

function presentTask({ state, ...task }: ListedTask): Record<string, unknown> {
  return {
    task_id: task.taskId,
    agent_id: task.agentId,
    display_name: task.displayName ?? null,
    sponsor: task.sponsor,
    sponsor_key: task.sponsorKey,
    audience: task.audience,
    scope: formatScope(task.scope),
    delegation_depth: task.delegationDepth,
    parent_task_id: parentOf(task) ?? null,
    started_at: toShortText(task.createdAt),
    expires_at: toShortText(task.expiresAt),
    state: state.kind,
    ended_at: state.kind === 'live' ? null : toShortText(state.at),
    reason: endReasonOf(state) ?? null,
    renewals: task.renewals,
  };
}

function presentPurpose({ presentsPurposes }: ReadingSurface, { purpose }: ShownTask): Record<string, unknown> {
  if (purpose === undefined && !presentsPurposes) return {};
  return { purpose: purpose?.words ?? null, purpose_salt: purpose?.salt ?? null };
}

export const readingReads: Reads<ReadingSurface> = {
  'GET /admin/tasks': listTasks,
  'GET /admin/tasks/{task_id}': showTask,
  'GET /admin/sponsors': blocks,
};

export const treeReads: Reads<ReadingSurface> = { 'GET /admin/tasks/{task_id}/tree': taskTree };
