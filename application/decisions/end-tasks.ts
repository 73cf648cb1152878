/**
 * The kill switches of operators and of people (specification "Admin API"). They end one task, all tasks of an agent, of a
 * person, or of an agent for one person, or a portion of all tasks. Other decisions end tasks too: block, signal, logout,
 * revoked grant, expiry. All of them use ending.ts.
 */

import type { AgentId, SponsorKey, TaskId } from '../../domain/identifiers.ts';
import type { Revocation } from '../../domain/tasks/task.ts';
import { decision, type Judgement } from './decision.ts';
import { recorded } from './effect.ts';
import { revokeTasks, voidAuthorizations } from './ending.ts';
import { ask } from './fact.ts';
import { exclusive } from './lock.ts';
import { explained } from './operator-act.ts';

export interface TasksEnd extends Revocation {
  /**
   * `task`: `sponsorKey` is that of the task's person, who never changes. `sponsor_agent`: no check that the agent exists.
   */
  readonly selection:
    | { readonly kind: 'task'; readonly taskId: TaskId; readonly sponsorKey: SponsorKey }
    | { readonly kind: 'agent'; readonly agentId: AgentId }
    | { readonly kind: 'sponsor'; readonly sponsorKey: SponsorKey }
    | { readonly kind: 'sponsor_agent'; readonly sponsorKey: SponsorKey; readonly agentId: AgentId };
}

/** If no task is live, and no authorization ends, nothing is written. */
export type EndVerdict =
  | { readonly kind: 'ended'; readonly tasks: number }
  /** The task or agent does not exist. A person is never `not_found`: the service has no list of all people. */
  | { readonly kind: 'not_found' };

/** Also ends all tasks delegated from the selected ones. It waits for running exchanges, and ends their tasks as well. */
export const endTasks = explained(
  decision({
    name: 'end_tasks',
    transaction: 'operator',

    mayShare: ({ selection }: TasksEnd) => selection.kind === 'task',

    locks: ({ selection }) => [
      selection.kind === 'agent' ? exclusive('agent', selection.agentId) : exclusive('sponsor', selection.sponsorKey),
      ...(selection.kind === 'task' ? [exclusive('task', selection.taskId)] : []),
    ],

    asks: ({ selection, at }) => ({
      live: ask('live_tasks', { selection, at }),
      task: selection.kind === 'task' ? ask('task_sponsor', selection.taskId) : undefined,
      revision: selection.kind === 'agent' ? ask('agent_revision', selection.agentId) : undefined,
    }),

    judge: ({ selection, at, reason }, { live, task, revision }): Judgement<EndVerdict> => {
      const isUnknown =
        (selection.kind === 'task' && task === undefined) || (selection.kind === 'agent' && revision === undefined);
      if (isUnknown) return { verdict: { kind: 'not_found' }, effects: [] };
      const { tasks, effects, ended } = revokeTasks(live, { at, reason }, selection);
      return { verdict: { kind: 'ended', tasks }, effects: [...effects, ...recorded([], ended)] };
    },
  }),
);

/** A person's own stop, at `/me`. */
export const endOwnTasks: typeof endTasks = { ...endTasks, name: 'end_own_tasks', transaction: 'person' };

interface SomeTasksEnd extends Revocation {
  /** At least 1. */
  readonly limit: number;
}

interface SomeEndVerdict {
  readonly tasks: number;
  /** Whether no further task was live. */
  readonly isLast: boolean;
}

/**
 * Ends up to `limit` of all live tasks, and all tasks delegated from them. It does not wait for running exchanges: their
 * tasks count as started afterwards.
 */
export const endSomeTasks = explained(
  decision({
    name: 'end_some_tasks',
    transaction: 'operator',
    locks: () => [],
    asks: ({ limit, at }: SomeTasksEnd) => ({ live: ask('some_live_tasks', { limit, at }) }),

    judge: ({ at, reason }, { live: { taskIds, areAll } }): Judgement<SomeEndVerdict> => {
      const { tasks, effects, ended } = revokeTasks({ taskIds, delegated: new Set() }, { at, reason }, undefined);
      return { verdict: { tasks, isLast: areAll }, effects: [...effects, ...recorded([], ended)] };
    },
  }),
  ({ tasks }) => tasks > 0,
);

/**
 * Ends all requests at `/oauth2/authorize`, and their codes. The end of everything runs it before the first portion of tasks, so
 * that the task of a code which was redeemed a moment earlier is in a portion.
 */
export const endAllRequests = decision({
  name: 'end_all_requests',
  transaction: 'operator',
  locks: () => [exclusive('authorizing', '')],
  asks: () => ({}),
  judge: (end: Revocation): Judgement<undefined> => ({
    verdict: undefined,
    effects: voidAuthorizations({ kind: 'everything' }, end),
  }),
});
