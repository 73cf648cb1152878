/** How live tasks end: the rows that change, and the records (specification "Task"; "Audit events"). */

import type { Instant } from '../../domain/instant.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import type { Revocation } from '../../domain/tasks/task.ts';
import type { Effect, TaskEnd } from './effect.ts';
import type { LiveTask, LiveTasks } from './fact.ts';

/** The rows that change, and the records of the tasks in their order. */
export interface Ending {
  readonly effects: readonly Effect[];
  readonly entries: readonly LedgerEntry[];
  /** The number of ended tasks. */
  readonly tasks: number;
}

/** Revokes the selected tasks for this reason, and the delegated ones because their parent is revoked. */
export function revokeTasks({ selected, delegated }: LiveTasks, { at, reason }: Revocation): Ending {
  return joined([
    endedBy(selected, at, { state: 'revoked', reason }),
    endedBy(delegated, at, { state: 'revoked', reason: 'parent_revoked' }),
  ]);
}

/** Records the expiry of the tasks, dated `at`. */
export function expireTasks(tasks: readonly LiveTask[], at: Instant): Ending {
  return joined([endedBy(tasks, at, { state: 'expired' })]);
}

interface Ended {
  readonly tasks: readonly LiveTask[];
  readonly at: Instant;
  readonly end: TaskEnd;
}

function endedBy(tasks: readonly LiveTask[], at: Instant, end: TaskEnd): Ended {
  return { tasks, at, end };
}

function joined(ends: readonly Ended[]): Ending {
  const held = ends.filter(({ tasks }) => tasks.length > 0);
  const inOrder = held
    .flatMap(({ tasks, at, end }) => tasks.map((task) => ({ task, at, end })))
    .sort((one, other) => byCreation(one.task, other.task));
  return {
    effects: held.map(({ tasks, at, end }) => ({
      effect: 'end_tasks',
      taskIds: tasks.map(({ taskId }) => taskId),
      at,
      end,
    })),
    entries: inOrder.flatMap(({ task, at, end }) => recordsOf(task, at, end)),
    tasks: inOrder.length,
  };
}

/** A task comes after the task that it was delegated from. */
function byCreation(one: LiveTask, other: LiveTask): number {
  if (one.createdAt !== other.createdAt) return one.createdAt - other.createdAt;
  return one.taskId < other.taskId ? -1 : 1;
}

/** Renewals without their own record are summed up before the end. */
function recordsOf(task: LiveTask, at: Instant, end: TaskEnd): readonly LedgerEntry[] {
  const { taskId, agentId, sponsor, audience, scope, delegationDepth, unrecorded } = task;
  const about = { at, taskId, agentId, sponsor, audience, scope, delegationDepth, decision: 'allow' } as const;
  const ended: LedgerEntry =
    end.state === 'revoked'
      ? { ...about, event: 'task.revoked', reason: end.reason }
      : { ...about, event: 'task.expired', reason: 'task_ttl_elapsed' };
  return unrecorded === 0 ? [ended] : [{ ...about, event: 'token.refreshed', count: unrecorded }, ended];
}
