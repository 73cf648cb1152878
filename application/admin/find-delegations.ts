/** Finds the tasks of a picture of delegations: live ones, or those that ran in a window of time. */

import { firstTaskIdAt, type TaskId } from '../../domain/identifiers.ts';
import { type Instant, plusSeconds } from '../../domain/instant.ts';
import type { TaskState } from '../../domain/tasks/task.ts';
import { taskStates } from '../../domain/tasks/task.ts';
import { MOST_READ } from '../ledger/query.ts';
import type { SharedTime } from '../ports/runtime.ts';
import type { ListedTask, TaskFilters, Tasks } from '../ports/tasks.ts';

export interface DelegationQuestion extends Omit<TaskFilters, 'state'> {
  /** `undefined`: live tasks, or with a window those of every state. */
  readonly state: TaskState['kind'] | undefined;
  /** Tasks that ran at some time from `from` until before `to`. */
  readonly window: { readonly from: Instant; readonly to: Instant } | undefined;
}

export interface Delegations {
  /** Newest first within each state. */
  readonly tasks: readonly ListedTask[];
  /** `false`: there are older ones, which were not read. */
  readonly isComplete: boolean;
}

/** One after the other, so that the database can serve other requests between two pages. */
const PAGE = 1000;
/** A task id has the time of the process that made it, a task that of its clock. They differ by less. */
const CLOCKS_DIFFER_SECONDS = 60;

export async function findDelegations(
  service: {
    readonly tasks: Pick<Tasks, 'list'>;
    readonly sharedTime: Pick<SharedTime, 'earliest'>;
    readonly maxTaskTtl: number;
  },
  question: DelegationQuestion,
): Promise<Delegations> {
  const { window, state } = question;
  const states = state !== undefined ? [state] : window === undefined ? (['live'] as const) : taskStates;
  const found: ListedTask[] = [];
  let left = MOST_READ;
  for (const each of states) {
    const { tasks, read, isComplete } = await findIn(service, { ...question, state: each }, left);
    for (const task of tasks) found.push(task);
    left -= read;
    if (!isComplete) return { tasks: found, isComplete };
  }
  return { tasks: found, isComplete: true };
}

/** @param most how many tasks may be read */
async function findIn(
  { tasks, sharedTime, maxTaskTtl }: Parameters<typeof findDelegations>[0],
  { window, ...filters }: DelegationQuestion & TaskFilters,
  most: number,
): Promise<Delegations & { readonly read: number }> {
  const now = await sharedTime.earliest();
  const found: ListedTask[] = [];
  let after: TaskId | undefined = window && firstTaskIdAt(plusSeconds(window.to, CLOCKS_DIFFER_SECONDS));
  let read = 0;
  // No task that began before could have run in the window.
  const earliest = window && plusSeconds(window.from, -maxTaskTtl - CLOCKS_DIFFER_SECONDS);
  while (read < most) {
    const limit = Math.min(PAGE, most - read);
    const page = await tasks.list({ ...filters, after, limit, mostRead: limit, now });
    for (const task of page.tasks) if (window === undefined || ranIn(task, window)) found.push(task);
    read += page.readUpTo === undefined ? page.tasks.length : limit;
    const last = page.tasks.at(-1);
    after = page.readUpTo ?? (page.tasks.length === limit ? last?.taskId : undefined);
    const isBefore = earliest !== undefined && last !== undefined && last.createdAt < earliest;
    if (after === undefined || isBefore) return { tasks: found, read, isComplete: true };
  }
  return { tasks: found, read, isComplete: false };
}

function ranIn(task: ListedTask, { from, to }: NonNullable<DelegationQuestion['window']>): boolean {
  const end = task.state.kind === 'live' ? task.expiresAt : task.state.at;
  return task.createdAt < to && end >= from;
}
