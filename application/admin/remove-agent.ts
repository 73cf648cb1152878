/** Removes an agent that has no stored tasks (specification "Admin API", DELETE of an agent). */

import type { AgentId } from '../../domain/identifiers.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import type { Agents } from '../ports/agents.ts';
import type { Clock } from '../ports/runtime.ts';

export interface AgentRemoval {
  readonly agents: Agents;
  readonly clock: Clock;
}

/** `has_tasks` is recorded as a refusal. */
export type RemoveOutcome = 'removed' | 'has_tasks' | 'not_found';

export async function removeAgent({ agents, clock }: AgentRemoval, agentId: AgentId): Promise<RemoveOutcome> {
  const about = { at: clock.now(), event: 'agent.deleted', agentId } as const;
  const entry: LedgerEntry = { ...about, decision: 'allow' };
  const refusal: LedgerEntry = { ...about, decision: 'deny', reason: 'agent_has_tasks' };
  return agents.remove(agentId, entry, refusal);
}
