/**
 * Locks the tasks above a delegated one, and their agents, and asks for them again. The request was checked against plain reads,
 * and they may have changed since.
 */

import type { AgentId, TaskId } from '../../domain/identifiers.ts';
import type { Instant } from '../../domain/instant.ts';
import { isWithin, type Scope } from '../../domain/scope.ts';
import { isTimeUp } from '../../domain/tasks/lifetime.ts';
import type { GrantHash } from '../../domain/tasks/task.ts';
import { type Answers, ask } from './fact.ts';
import { exclusive, type Lock, shared } from './lock.ts';

/** A task above, as the request was checked against it. */
export interface JudgedAncestor {
  readonly taskId: TaskId;
  readonly grantHash: GrantHash;
  readonly agentId: AgentId;
  readonly agentRevision: number;
}

/**
 * - `agent_changed`: check the request again.
 * - `parent_ended`: a task above is not stored, is not live, or has expired.
 * - `narrowed`: a task above does not have the whole scope any more. Check the request again.
 */
export type ChainObstacle = { readonly kind: 'agent_changed' | 'parent_ended' | 'narrowed' };

/**
 * The rows of the tasks come before those of their grants: an end locks these in another order than a renewal does, and waits here
 * for it, or comes before it.
 *
 * @param ancestors the nearest first
 * @param own the agent whose lock the decision takes anyway
 * @param parent `exclusive` for a task that begins under the nearest: its children are counted, one after another
 */
export function chainLocks(
  ancestors: readonly JudgedAncestor[],
  own?: AgentId,
  parent: Lock['mode'] = 'shared',
): readonly Lock[] {
  const agentIds = new Set(ancestors.map(({ agentId }) => agentId).filter((agentId) => agentId !== own));
  return [
    ...[...agentIds].map((agentId) => shared('agent', agentId)),
    ...ancestors.map(({ taskId }, nth) => (nth === 0 && parent === 'exclusive' ? exclusive : shared)('task', taskId)),
    ...ancestors.map(({ grantHash }) => shared('grant', grantHash)),
  ];
}

export function chainQuestions(ancestors: readonly JudgedAncestor[]) {
  return {
    ancestorRevisions: ancestors.map(({ agentId }) => ask('agent_revision', agentId)),
    ancestorTasks: ancestors.map(({ taskId }) => ask('delegating_task', taskId)),
  };
}

export function findChainObstacle(
  ancestors: readonly JudgedAncestor[],
  { ancestorRevisions, ancestorTasks }: Answers<ReturnType<typeof chainQuestions>>,
  { scope, at }: { readonly scope: Scope; readonly at: Instant },
): ChainObstacle | undefined {
  if (ancestors.some(({ agentRevision }, nth) => ancestorRevisions[nth] !== agentRevision))
    return { kind: 'agent_changed' };
  const isLive = ancestorTasks.every((task) => task?.state === 'live' && !isTimeUp(task, at));
  if (!isLive) return { kind: 'parent_ended' };
  return ancestorTasks.every((task) => task !== undefined && isWithin(scope, task.scope))
    ? undefined
    : { kind: 'narrowed' };
}
