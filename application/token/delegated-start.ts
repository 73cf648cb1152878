/** A task that another agent delegates starts with its offer, and with the tasks through which its authority came. */

import { type Offer, spentOffer } from '../../domain/delegation/offer.ts';
import { takenDetail } from '../../domain/ledger/delegation-records.ts';
import { formatScope } from '../../domain/scope.ts';
import type { Delegator, Task } from '../../domain/tasks/task.ts';
import type { TakenOffer } from '../decisions/open-task.ts';
import type { ChainedTask } from '../ports/tasks.ts';
import { type DelegationRules, type FoundAncestor, judgedAncestor } from './chain.ts';

export interface DelegatedStart {
  readonly offer: Offer;
  /** The task that delegates, and those above it, the nearest first. */
  readonly above: readonly [ChainedTask, ...ChainedTask[]];
}

export function delegatorsOf({ offer, above: [parent] }: DelegatedStart): readonly Delegator[] {
  const { taskId, agentId, delegatedBy } = parent.task;
  return [{ taskId, agentId, instance: offer.instance }, ...delegatedBy];
}

export function takenOffer(
  delegation: DelegationRules | undefined,
  { offer, above: [parent] }: DelegatedStart,
  task: Task,
  ancestors: readonly FoundAncestor[],
): TakenOffer {
  const { taskId, agentId, sponsor, audience, scope, delegationDepth, createdAt: at } = task;
  return {
    ancestors: ancestors.map(judgedAncestor),
    offer: spentOffer(offer),
    maxChildren: delegation?.maxChildrenPerTask ?? 0,
    entry: {
      at,
      event: 'delegation.taken',
      taskId,
      agentId,
      sponsor,
      audience,
      scope: formatScope(scope),
      delegationDepth,
      decision: 'allow',
      detail: takenDetail(offer.offerId, parent.task.taskId),
    },
  };
}
