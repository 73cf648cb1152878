/** The sweeper's decisions: recording expiries of tasks and approvals, and deleting ended tasks (specification "Task"; Service:Tasks:*). */

import type { Instant } from '../../domain/instant.ts';
import { expireApproval } from './ask-approval.ts';
import { decision } from './decision.ts';
import { recorded } from './effect.ts';
import { expireTasks } from './ending.ts';
import { ask } from './fact.ts';

/** Tasks, or approvals, whose time is up. */
export interface DueTasks {
  readonly overBy: Instant;
  /** The date of the records. */
  readonly at: Instant;
  readonly limit: number;
}

/** Records the expiry of up to `limit` live tasks that expired by `overBy`. The verdict is the number of these tasks. */
export const expireDueTasks = decision({
  name: 'expire_due_tasks',
  transaction: 'own',
  locks: () => [],
  asks: ({ overBy, limit }: DueTasks) => ({ due: ask('due_tasks', { overBy, limit }) }),
  judge: ({ at }, { due }) => {
    const { tasks, effects, ended } = expireTasks(due, at);
    return { verdict: tasks, effects: [...effects, ...recorded([], ended)] };
  },
});

export interface EndedTasks {
  readonly endedBy: Instant;
  readonly limit: number;
}

/**
 * Deletes up to `limit` tasks that ended by `endedBy`, with their grants. A task stays while a task delegated from it is
 * stored. The verdict is the number of deleted tasks.
 */
export const deleteEndedTasks = decision({
  name: 'delete_ended_tasks',
  transaction: 'own',
  locks: () => [],
  asks: (ended: EndedTasks) => ({ ended: ask('ended_tasks', ended) }),
  judge: (_, { ended }) => ({
    verdict: ended.length,
    effects: [{ effect: 'delete_tasks', taskIds: ended }],
  }),
});

/** Records the expiry of up to `limit` open approvals whose time was up by `overBy`. The verdict is their number. */
export const expireDueApprovals = decision({
  name: 'expire_due_approvals',
  transaction: 'own',
  locks: () => [],
  asks: ({ overBy, limit }: DueTasks) => ({ due: ask('due_approvals', { overBy, limit }) }),
  judge: ({ at }, { due }) => {
    const expired = due.map((approval) => expireApproval(approval, approval, at));
    return {
      verdict: due.length,
      effects: [...expired.flatMap(({ effects }) => effects), ...recorded(expired.flatMap(({ entries }) => entries))],
    };
  },
});
