/**
 * A person's own tasks in pages: live ones first, then those that retention still has. The other files of this folder
 * are a person's other requests at `/me`: stopping tasks (stop-my-tasks.ts), pausing all agents (pause.ts), reading
 * records (my-records.ts). Each is about the person who asks, and no other.
 */

import type { MePerson } from '../../domain/sponsors/me-person.ts';
import type { SharedTime } from '../ports/runtime.ts';
import type { OwnTask, OwnTaskPosition, Tasks } from '../ports/tasks.ts';

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

export async function myTasks(
  {
    tasks,
    sharedTime,
  }: { readonly tasks: Pick<Tasks, 'ofSponsor'>; readonly sharedTime: Pick<SharedTime, 'earliest'> },
  { sponsorKey }: MePerson,
  { after, limit }: MyTasksQuestion,
): Promise<MyTasksPage> {
  // Read one more than the limit: it tells whether another page follows.
  const found = await tasks.ofSponsor(sponsorKey, { after, limit: limit + 1, now: await sharedTime.earliest() });
  const page = found.slice(0, limit);
  const last = found.length > limit ? page.at(-1) : undefined;
  return { tasks: page, nextAfter: last && { taskId: last.taskId, endedAt: last.endedAt } };
}
