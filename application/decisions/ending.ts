/** How live tasks end (specification "Task"; "Audit events"), and with them what a person has not answered or a client not redeemed. */

import type { VoidReason } from '../../domain/authorization/authorization.ts';
import type { TaskId } from '../../domain/identifiers.ts';
import { type Instant, plusSeconds, toSeconds } from '../../domain/instant.ts';
import { TIME_UP } from '../../domain/tasks/lifetime.ts';
import type { Revocation, RevocationReason } from '../../domain/tasks/task.ts';
import type { Effect, EndedTask, EndedTasks, TaskEnd } from './effect.ts';
import type { AuthorizationSelection, LiveTasks, TaskSelection } from './fact.ts';

export interface Ending {
  /** The number of ended tasks. */
  readonly tasks: number;
  /** The rows that change. */
  readonly effects: readonly Effect[];
  /** The tasks to record; `undefined` if none ended. */
  readonly ended: EndedTasks | undefined;
}

/**
 * Revokes the selected tasks with this reason, and those delegated from them with `parent_revoked`. Authorizations of the same
 * agent, person or session go void.
 *
 * @param selection how `live` was selected; `undefined` if no authorization ends with the tasks
 */
export function revokeTasks(
  { taskIds, delegated }: Pick<LiveTasks, 'taskIds' | 'delegated'>,
  { at, reason }: Revocation,
  selection: TaskSelection | undefined,
): Ending {
  const selected = revoked(reason);
  const child = revoked('parent_revoked');
  const ending = ended(
    taskIds.map((taskId) => ({ taskId, end: delegated.has(taskId) ? child : selected })),
    at,
  );
  // A stop of one task is about that task only.
  if (selection === undefined || selection.kind === 'task') return ending;
  return { ...ending, effects: [...ending.effects, ...voidAuthorizations(selection, { at, reason })] };
}

/** Seconds. Longer than any request, from the browser's arrival to the answer. */
const END_COUNTS_FOR_SECONDS = 2 * 60 * 60;

/**
 * No code or request of the selection opens a task afterwards. Of an agent, and of everything, that includes requests whose
 * person is still at the identity provider. They are not stored, so they notice the end when the person comes back
 * (keep-request.ts).
 */
export function voidAuthorizations(
  selection: AuthorizationSelection,
  { at, reason }: { readonly at: Instant; readonly reason: VoidReason },
): readonly Effect[] {
  const gone: Effect = { effect: 'void_authorizations', selection, reason };
  if (selection.kind !== 'agent' && selection.kind !== 'everything') return [gone];
  const forgetAt = plusSeconds(at, END_COUNTS_FOR_SECONDS);
  return [gone, { effect: 'count_authorization_end', of: selection, first: firstCount(forgetAt), reason, forgetAt }];
}

/** Never 1: a request may have begun with the count of an earlier row, which was deleted since. */
function firstCount(forgetAt: Instant): number {
  return Math.floor(toSeconds(forgetAt) / 60);
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
