/**
 * A person's own tasks in pages: live ones first, then those that retention still has; or only the ended ones. The other
 * files of this folder are a person's other requests at `/me`: the agents that act for them (my-agents.ts), stopping tasks
 * (stop-my-tasks.ts), pausing all agents (pause.ts), reading records (my-records.ts). Each is about the person who asks, and
 * no other.
 */

import type { MePerson } from '../../domain/sponsors/me-person.ts';
import { reportDifference } from '../ledger/differences.ts';
import type { SharedTime } from '../ports/runtime.ts';
import type { OwnTask, OwnTaskPosition, OwnTasksQuestion, Tasks } from '../ports/tasks.ts';
import type { Log } from '../ports/telemetry.ts';

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

interface Listing<Method extends keyof Tasks> {
  readonly tasks: Pick<Tasks, Method>;
  readonly sharedTime: Pick<SharedTime, 'earliest'>;
  readonly log: Pick<Log, 'error'>;
}

/** Reports purposes that the ledger has otherwise. They are not shown. */
export function reportPurposes(log: Pick<Log, 'error'>, tasks: readonly MyTask[]): void {
  for (const { purposeDiffers } of tasks) if (purposeDiffers !== undefined) reportDifference(log, purposeDiffers);
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

async function pageOf(
  { after, limit }: MyTasksQuestion,
  { sharedTime, log }: Pick<Listing<never>, 'sharedTime' | 'log'>,
  list: (question: OwnTasksQuestion) => Promise<readonly MyTask[]>,
): Promise<MyTasksPage> {
  // Read one more than the limit: it tells whether another page follows.
  const found = await list({ after, limit: limit + 1, now: await sharedTime.earliest() });
  const tasks = found.slice(0, limit);
  reportPurposes(log, tasks);
  const last = found.length > limit ? tasks.at(-1) : undefined;
  return { tasks, nextAfter: last && { taskId: last.taskId, endedAt: last.endedAt } };
}
