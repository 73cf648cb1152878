/**
 * A person's own tasks in pages: live ones first, then those that retention still has; or only the ended ones. The other
 * files of this folder are a person's other requests at `/me`: the agents that act for them (my-agents.ts), stopping tasks
 * (stop-my-tasks.ts), pausing all agents (pause.ts), reading records (my-records.ts). Each is about the person who asks, and
 * no other.
 */

import type { TaskId } from '../../domain/identifiers.ts';
import type { MePerson } from '../../domain/sponsors/me-person.ts';
import { type Reporting, reportDifferences } from '../ledger/differences.ts';
import type { SharedTime } from '../ports/runtime.ts';
import type { OwnTask, OwnTaskPosition, OwnTasksQuestion, Tasks, TreeTask } from '../ports/tasks.ts';

export type MyTask = OwnTask;
export type MyTasksCursor = OwnTaskPosition;

export interface MyTasksQuestion {
  readonly after: MyTasksCursor | undefined;
  readonly limit: number;
}

export interface MyTasksPage {
  readonly tasks: readonly MyTask[];
  /** `undefined` on the last page. */
  readonly nextAfter: MyTasksCursor | undefined;
}

interface Listing<Method extends keyof Tasks> extends Reporting {
  readonly tasks: Pick<Tasks, Method>;
  readonly sharedTime: Pick<SharedTime, 'earliest'>;
}

/** Reports purposes that the ledger has otherwise. They are not shown. @returns the tasks, once each difference is judged */
export async function reportPurposes(reporting: Reporting, tasks: readonly MyTask[]): Promise<readonly MyTask[]> {
  const differences = await reportDifferences(
    reporting,
    tasks.map(({ purposeDiffers }) => purposeDiffers),
  );
  return tasks.map((task, nth) => ({ ...task, purposeDiffers: differences[nth] }));
}

export async function myTasks(
  { tasks, ...reading }: Listing<'ofSponsor'>,
  { sponsorKey }: MePerson,
  question: MyTasksQuestion,
): Promise<MyTasksPage> {
  return pageOf(question, reading, (oneMore) => tasks.ofSponsor(sponsorKey, oneMore));
}

export async function myEndedTasks(
  { tasks, ...reading }: Listing<'endedOfSponsor'>,
  { sponsorKey }: MePerson,
  question: MyTasksQuestion,
): Promise<MyTasksPage> {
  return pageOf(question, reading, (oneMore) => tasks.endedOfSponsor(sponsorKey, oneMore));
}

/** Those of the given tasks that are stored and the person's, by their ids. */
export async function myTasksById(
  { tasks, sharedTime, ...reporting }: Listing<'ofSponsorById'>,
  { sponsorKey }: MePerson,
  taskIds: readonly TaskId[],
): Promise<ReadonlyMap<TaskId, MyTask>> {
  const now = await sharedTime.earliest();
  const found = taskIds.length === 0 ? [] : await tasks.ofSponsorById(sponsorKey, { taskIds, now });
  return new Map((await reportPurposes(reporting, found)).map((task) => [task.taskId, task]));
}

export interface MyTaskTree {
  /** The first task of the tree, then level by level, also ended ones. */
  readonly tasks: readonly TreeTask[];
  /** Whether there are more than the limit. */
  readonly areMore: boolean;
}

/** The tree of a task. Empty for a task that is not stored, or is another person's. */
export async function myTaskTree(
  { tasks, sharedTime }: Omit<Listing<'tree' | 'findSponsor'>, keyof Reporting>,
  { sponsorKey }: MePerson,
  { taskId, limit }: { readonly taskId: TaskId; readonly limit: number },
): Promise<MyTaskTree> {
  // All tasks of a tree are for one person.
  if ((await tasks.findSponsor(taskId)) !== sponsorKey) return { tasks: [], areMore: false };
  const now = await sharedTime.earliest();
  const found = await tasks.tree({ taskId, after: undefined, limit: limit + 1, now });
  return { tasks: found.slice(0, limit), areMore: found.length > limit };
}

async function pageOf(
  { after, limit }: MyTasksQuestion,
  { sharedTime, ...reporting }: Omit<Listing<never>, 'tasks'>,
  list: (question: OwnTasksQuestion) => Promise<readonly MyTask[]>,
): Promise<MyTasksPage> {
  // Read one more than the limit: it tells whether another page follows.
  const found = await list({ after, limit: limit + 1, now: await sharedTime.earliest() });
  const tasks = await reportPurposes(reporting, found.slice(0, limit));
  const last = found.length > limit ? tasks.at(-1) : undefined;
  return { tasks, nextAfter: last && { taskId: last.taskId, endedAt: last.endedAt } };
}
