/** Which agents may delegate to which, and the scope that a delegated task gets from the tasks above it (docs/sub-agents.md). */

import type { Agent } from '../agents/agent.ts';
import type { DenialReason } from '../denial.ts';
import type { AgentId } from '../identifiers.ts';
import type { Instant } from '../instant.ts';
import { intersectScopes, type Scope } from '../scope.ts';
import { stateAt } from '../tasks/lifetime.ts';
import type { Task, TaskState } from '../tasks/task.ts';

/** A task above a delegated one, with its agent as registered now. */
export interface Ancestor {
  readonly task: Pick<Task, 'agentId' | 'audience' | 'expiresAt'>;
  readonly state: TaskState;
  /** Its present scope: that of the last refresh. */
  readonly scope: Scope;
  /** `undefined` if it is not registered. */
  readonly agent: Agent | undefined;
}

type Refused<Reason extends DenialReason> = { readonly kind: 'refused'; readonly reason: Reason };

type AboveVerdict =
  | { readonly kind: 'held'; readonly scope: Scope }
  | Refused<'parent_ended' | 'ancestor_disabled' | 'audience_not_allowed'>;

/**
 * Whether the tasks above are live and their agents may act.
 *
 * @param ancestors the nearest first; at least one
 * @returns the scope that all of them have now
 */
export function judgeAbove(ancestors: readonly Ancestor[], now: Instant): AboveVerdict {
  if (ancestors.length === 0 || ancestors.some(({ task, state }) => stateAt(state, task, now).kind !== 'live')) {
    return { kind: 'refused', reason: 'parent_ended' };
  }
  if (ancestors.some(({ agent }) => agent?.enabled !== true)) return { kind: 'refused', reason: 'ancestor_disabled' };
  if (ancestors.some(({ agent, task }) => agent?.allowedAudiences.includes(task.audience) !== true)) {
    return { kind: 'refused', reason: 'audience_not_allowed' };
  }
  const [nearest, ...others] = ancestors.map(({ scope, agent }) => intersectScopes(scope, agent?.allowedScopes ?? []));
  return { kind: 'held', scope: intersectScopes(nearest ?? [], ...others) };
}

/** What the registrations say of an agent in a chain. */
type ChainAgent = Pick<Agent, 'agentId' | 'delegatesTo' | 'maxDelegationDepth'>;

/**
 * Whether each agent of the chain may delegate to the next one.
 *
 * @param chain the agent that acts first, then those above it, the nearest first
 * @param maxDepth `Service:Delegation:MaxDepth`
 */
export function judgeChain(
  chain: readonly ChainAgent[],
  maxDepth: number,
): Extract<DenialReason, 'delegation_not_allowed' | 'delegation_depth_exceeded'> | undefined {
  const isAllowed = chain.every(({ agentId }, nth) => {
    const above = chain[nth + 1];
    return above === undefined || above.delegatesTo?.includes(agentId) === true;
  });
  if (!isAllowed || hasCircle(chain.map(({ agentId }) => agentId))) return 'delegation_not_allowed';
  const depth = chain.length;
  const isTooDeep = depth > maxDepth || chain.some(({ maxDelegationDepth }) => depth > maxDelegationDepth);
  return isTooDeep ? 'delegation_depth_exceeded' : undefined;
}

/** An agent may stand in a chain again only directly below itself. */
function hasCircle(agentIds: readonly AgentId[]): boolean {
  const runs = agentIds.filter((agentId, nth) => agentId !== agentIds[nth - 1]);
  return new Set(runs).size < runs.length;
}
