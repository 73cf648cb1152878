/** Removes an agent that has no stored tasks and that no other agent names (specification "Admin API", DELETE of an agent). */

import type { AgentId } from '../../domain/identifiers.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import { type DeleteAgentVerdict, deleteAgent } from '../decisions/write-agent.ts';
import type { Decisions } from '../ports/decisions.ts';
import type { Clock } from '../ports/runtime.ts';

interface AgentRemoval {
  readonly decisions: Decisions;
  readonly clock: Clock;
}

/** The ledger records `has_tasks` and `named_by_others` as refusals. */
export type RemoveOutcome = DeleteAgentVerdict;

export async function removeAgent({ decisions, clock }: AgentRemoval, agentId: AgentId): Promise<RemoveOutcome> {
  const about = { at: clock.now(), event: 'agent.deleted', agentId } as const;
  const entry: LedgerEntry = { ...about, decision: 'allow' };
  const refusal: LedgerEntry = { ...about, decision: 'deny', reason: 'agent_has_tasks' };
  const namedRefusal: LedgerEntry = { ...about, decision: 'deny', reason: 'agent_named_by_others' };
  return decisions.decide(deleteAgent, { agentId, entry, refusal, namedRefusal });
}
