/** Tasks as operators see them: all in pages, newest first; a tree in pages; or one with the numbers of its records. */

import { parseTaskId, type TaskId } from '../../domain/identifiers.ts';
import { type Reporting, reportDifferences } from '../ledger/differences.ts';
import type { FindArchivedPart } from '../ledger/find-archived-part.ts';
import { MOST_READ, queryLedger } from '../ledger/query.ts';
import type { Ledger } from '../ports/ledger.ts';
import type { Clock, Digest, SharedTime } from '../ports/runtime.ts';
import type { ListedTask, ShownTask, TaskFilters, Tasks, TreePosition, TreeTask } from '../ports/tasks.ts';
import { type ListPage, listPage, type PageQuestion } from './list-page.ts';

interface TaskReading {
  readonly tasks: Pick<Tasks, 'list' | 'findListed'>;
  readonly ledger: Pick<Ledger, 'page'>;
  readonly archivedPart: FindArchivedPart;
  readonly clock: Clock;
  /**
   * An instance whose clock is ahead must not hide a task that still runs: an operator cannot end a task that the list
   * lacks.
   */
  readonly sharedTime: Pick<SharedTime, 'earliest'>;
  readonly digest: Digest;
}

export interface ListTasksQuestion extends PageQuestion {
  readonly filters: TaskFilters;
}

export function listTasks(
  { tasks, sharedTime, digest }: Omit<TaskReading, 'ledger' | 'clock'>,
  { filters, ...question }: ListTasksQuestion,
): Promise<ListPage<ListedTask>> {
  const { agentId, sponsorKey, audience, state } = filters;
  const list = {
    query: ['tasks', agentId, sponsorKey, audience, state],
    parse: ([taskId = '', ...more]: readonly string[]) => (more.length === 0 ? parseTaskId(taskId) : undefined),
    read: async (after: TaskId | undefined, limit: number) => {
      const now = await sharedTime.earliest();
      const { tasks: items, readUpTo } = await tasks.list({ ...filters, after, limit, mostRead: MOST_READ, now });
      return { items, readUpTo: readUpTo && [readUpTo] };
    },
    positionOf: ({ taskId }: ListedTask) => [taskId],
  } as const;
  return listPage(digest, list, question);
}

export interface TaskTreeQuestion extends PageQuestion {
  /** Any task of the tree. */
  readonly taskId: TaskId;
}

/** The whole tree of a task, the first task first. */
export async function taskTree(
  {
    tasks,
    sharedTime,
    digest,
  }: Pick<TaskReading, 'sharedTime' | 'digest'> & {
    readonly tasks: Pick<Tasks, 'tree' | 'findSponsor'>;
  },
  { taskId, ...question }: TaskTreeQuestion,
): Promise<ListPage<TreeTask> | { readonly kind: 'not_found' }> {
  const list = {
    query: ['task_tree', taskId],
    parse: readTreePosition,
    read: async (after: TreePosition | undefined, limit: number) => ({
      items: await tasks.tree({ taskId, after, limit, now: await sharedTime.earliest() }),
    }),
    positionOf: (task: TreeTask) => [String(task.delegationDepth), task.taskId],
  } as const;
  const page = await listPage(digest, list, question);
  // The rest of a tree may have been deleted since the page before: that page is empty.
  const isUnknown = page.kind === 'page' && page.items.length === 0 && (await tasks.findSponsor(taskId)) === undefined;
  return isUnknown ? { kind: 'not_found' } : page;
}

const DEPTH = /^[1-9]\d?$/;

function readTreePosition([depth = '', id = '', ...more]: readonly string[]): TreePosition | undefined {
  const taskId = parseTaskId(id);
  if (!DEPTH.test(depth) || taskId === undefined || more.length > 0) return undefined;
  return { delegationDepth: Number(depth), taskId };
}

export interface TaskWithRecords {
  readonly task: ShownTask;
  /** The numbers of its oldest records. */
  readonly records: readonly number[];
  /** Continues the records at `GET /audit?task_id=…`; `undefined` if these are all. */
  readonly nextCursor: string | undefined;
}

/** A refused renewal is a record, so a task may have any number of them. */
const MAX_RECORDS = 1000;

export async function showTask(service: TaskReading & Reporting, taskId: TaskId): Promise<TaskWithRecords | undefined> {
  const task = await service.tasks.findListed(taskId, await service.sharedTime.earliest());
  if (task === undefined) return undefined;
  await reportDifferences(service, task.differences);
  const answer = await queryLedger(service, { filters: { taskId }, limit: MAX_RECORDS, cursor: undefined });
  const { records, nextCursor } = answer.kind === 'page' ? answer : { records: [], nextCursor: undefined };
  return { task, records: records.map(({ seq }) => seq), nextCursor };
}
