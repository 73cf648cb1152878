/** Reads the tasks above a delegated one, and their agents. domain/delegation/hand-over.ts has the rules. */

import type { Agent } from '../../domain/agents/agent.ts';
import { judgeAbove, judgeChain } from '../../domain/delegation/hand-over.ts';
import type { DenialReason } from '../../domain/denial.ts';
import type { Scope } from '../../domain/scope.ts';
import { isDelegatedThrough, parentOf, type Task } from '../../domain/tasks/task.ts';
import type { JudgedAncestor } from '../decisions/delegated.ts';
import type { Agents } from '../ports/agents.ts';
import type { Clock } from '../ports/runtime.ts';
import type { ChainedTask, Tasks } from '../ports/tasks.ts';

/** `Service:Delegation`. */
export interface DelegationRules {
  readonly maxDepth: number;
  readonly maxChildrenPerTask: number;
  /** Seconds. */
  readonly offerTtl: number;
}

export interface ChainChecking {
  readonly tasks: Pick<Tasks, 'chain'>;
  readonly agents: Pick<Agents, 'find'>;
  readonly clock: Clock;
  /** `undefined` without `Service:Delegation:Enabled`: no delegated task begins, and none is renewed. */
  readonly delegation: DelegationRules | undefined;
}

/** A task above, and its agent as registered now, which alone says whether the agent is enabled. */
export interface FoundAncestor extends Omit<ChainedTask, 'agentEnabled'> {
  readonly agent: Agent;
}

type AboveOutcome =
  /** `scope`: the scopes that all tasks above have now; `undefined` without tasks above. */
  | { readonly kind: 'held'; readonly scope: Scope | undefined; readonly ancestors: readonly FoundAncestor[] }
  /** `detail`: a public sentence in place of the reason's own. */
  | { readonly kind: 'refused'; readonly reason: DenialReason; readonly detail?: string };

/** Reads the tasks above a task, and judges them for a token now. */
export async function checkAbove(
  service: ChainChecking,
  task: Pick<Task, 'delegatedBy'>,
  agent: Agent,
): Promise<AboveOutcome> {
  const parent = parentOf(task);
  if (parent === undefined) return { kind: 'held', scope: undefined, ancestors: [] };
  return judgeAncestors(service, task, await service.tasks.chain(parent), agent);
}

/** The reason's own sentence is about the agent that asks. */
const NOT_ABOVE = 'An agent above in the chain may not act at this resource.';

/** @param above the task from which the agent's task is delegated, and those above it, the nearest first */
export async function judgeAncestors(
  { agents, clock, delegation }: Pick<ChainChecking, 'agents' | 'clock' | 'delegation'>,
  task: Pick<Task, 'delegatedBy'>,
  above: readonly ChainedTask[],
  agent: Agent,
): Promise<AboveOutcome> {
  if (delegation === undefined) return { kind: 'refused', reason: 'delegation_not_allowed' };
  if (!isDelegatedThrough(task, above)) return { kind: 'refused', reason: 'parent_ended' };
  // Read anew: a cached registration would refuse what an operator has just allowed. The decision names their revisions.
  const found = await Promise.all(
    above.map(async ({ agentEnabled: _, ...each }) => ({ ...each, agent: await agents.find(each.task.agentId) })),
  );
  const held = judgeAbove(found, clock.now());
  if (held.kind === 'refused') return held.reason === 'audience_not_allowed' ? { ...held, detail: NOT_ABOVE } : held;
  const ancestors = found.filter((ancestor): ancestor is FoundAncestor => ancestor.agent !== undefined);
  const reason = judgeChain([agent, ...ancestors.map((ancestor) => ancestor.agent)], delegation.maxDepth);
  return reason === undefined ? { kind: 'held', scope: held.scope, ancestors } : { kind: 'refused', reason };
}

/**
 * The public sentence of a reason for a delegated task, where the reason's own sentence is about the scopes of the person's token.
 * @returns `undefined` if the reason's own sentence is true
 */
export function chainSentence(reason: DenialReason): string | undefined {
  return reason === 'scope_intersection_empty'
    ? 'None of the requested scopes is held by the offer, by every task above and by every agent of the chain.'
    : undefined;
}

export function judgedAncestor({ task: { taskId, agentId }, grantHash, agent }: FoundAncestor): JudgedAncestor {
  return { taskId, agentId, grantHash, agentRevision: agent.revision };
}
