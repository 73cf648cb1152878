/** How live tasks end (specification "Task"; "Audit events"). */

import type { TaskId } from '../../domain/identifiers.ts';
import type { Instant } from '../../domain/instant.ts';
import { TIME_UP } from '../../domain/tasks/lifetime.ts';
import type { Revocation, RevocationReason } from '../../domain/tasks/task.ts';
import type { Effect, EndedTask, EndedTasks, TaskEnd } from './effect.ts';
import type { LiveTasks } from './fact.ts';

export interface Ending {
  /** The number of ended tasks. */
  readonly tasks: number;
  /** The rows that change. */
  readonly effects: readonly Effect[];
  /** The tasks to record; `undefined` if none ended. */
  readonly ended: EndedTasks | undefined;
}

/** Revokes the selected tasks with this reason, and those delegated from them with `parent_revoked`. */
export function revokeTasks(
  { taskIds, delegated }: Pick<LiveTasks, 'taskIds' | 'delegated'>,
  { at, reason }: Revocation,
): Ending {
  const selected = revoked(reason);
  const child = revoked('parent_revoked');
  return ended(
    taskIds.map((taskId) => ({ taskId, end: delegated.has(taskId) ? child : selected })),
    at,
  );
}

/** Marks the tasks as expired, with records dated `at`. */
export function expireTasks(taskIds: readonly TaskId[], at: Instant): Ending {
  const end: TaskEnd = { state: 'expired', record: { event: 'task.expired', reason: TIME_UP } };
  return ended(
    taskIds.map((taskId) => ({ taskId, end })),
    at,
  );
}

function revoked(reason: RevocationReason): TaskEnd {
  return { state: 'revoked', record: { event: 'task.revoked', reason } };
}

function ended(tasks: readonly EndedTask[], at: Instant): Ending {
  if (tasks.length === 0) return { tasks: 0, effects: [], ended: undefined };
  const all: EndedTasks = { tasks, at, renewalsEvent: 'token.refreshed', withdrawnEvent: 'approval.withdrawn' };
  return { tasks: tasks.length, effects: [{ effect: 'end_tasks', ...all }], ended: all };
}
