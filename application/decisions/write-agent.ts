/** Registers, changes and deletes agents, each time with a record (specification "Admin API"). */

import type { Agent } from '../../domain/agents/agent.ts';
import type { AgentId } from '../../domain/identifiers.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import { decision, type Judgement } from './decision.ts';
import { recorded } from './effect.ts';
import { ask } from './fact.ts';
import { exclusive } from './lock.ts';
import { explained } from './operator-act.ts';

export interface AgentAddition {
  /** At its first revision. */
  readonly agent: Agent;
  readonly entry: LedgerEntry;
  /** Appended if the id is taken. */
  readonly refusal: LedgerEntry;
}

export type AddAgentVerdict = 'registered' | 'already_exists';

export const addAgent = explained(
  decision({
    name: 'add_agent',
    transaction: 'own',
    locks: ({ agent }: AgentAddition) => [exclusive('agent', agent.agentId)],
    asks: ({ agent }) => ({ revision: ask('agent_revision', agent.agentId) }),
    judge: ({ agent, entry, refusal }, { revision }): Judgement<AddAgentVerdict> =>
      revision === undefined
        ? { verdict: 'registered', effects: [{ effect: 'insert_agent', ...agent }, ...recorded([entry])] }
        : { verdict: 'already_exists', effects: recorded([refusal]) },
    denial: ({ refusal }, verdict) =>
      verdict === 'already_exists' ? { event: refusal.event, reason: 'agent_already_exists' } : undefined,
  }),
);

export interface AgentChange {
  readonly agent: Agent;
  readonly entry: LedgerEntry;
}

/**
 * Compare-and-swap: the agent is stored if the stored revision is still `agent.revision - 1`. The decision waits for
 * concurrent decisions on the old revision, so that none of them commits afterwards.
 */
export type ChangeAgentVerdict = 'replaced' | 'changed' | 'not_found';

export const changeAgent = explained(
  decision({
    name: 'change_agent',
    transaction: 'own',
    locks: ({ agent }: AgentChange) => [exclusive('agent', agent.agentId)],
    asks: ({ agent }) => ({ revision: ask('agent_revision', agent.agentId) }),
    judge: ({ agent, entry }, { revision }): Judgement<ChangeAgentVerdict> => {
      if (revision === undefined) return { verdict: 'not_found', effects: [] };
      if (revision !== agent.revision - 1) return { verdict: 'changed', effects: [] };
      return { verdict: 'replaced', effects: [{ effect: 'replace_agent', ...agent }, ...recorded([entry])] };
    },
  }),
  (verdict) => verdict !== 'changed',
);

/** The same for a change that disables the agent: it is a switch. */
export const disableAgent: typeof changeAgent = { ...changeAgent, name: 'disable_agent', transaction: 'operator' };

export interface AgentDeletion {
  readonly agentId: AgentId;
  readonly entry: LedgerEntry;
  /** Appended if any task of the agent is stored, live or ended. */
  readonly refusal: LedgerEntry;
}

export type DeleteAgentVerdict = 'removed' | 'has_tasks' | 'not_found';

export const deleteAgent = explained(
  decision({
    name: 'delete_agent',
    // A switch, as disabling is.
    transaction: 'operator',
    locks: ({ agentId }: AgentDeletion) => [exclusive('agent', agentId)],
    asks: ({ agentId }) => ({
      revision: ask('agent_revision', agentId),
      hasTasks: ask('agent_has_tasks', agentId),
    }),
    judge: ({ agentId, entry, refusal }, { revision, hasTasks }): Judgement<DeleteAgentVerdict> => {
      if (hasTasks) return { verdict: 'has_tasks', effects: recorded([refusal]) };
      if (revision === undefined) return { verdict: 'not_found', effects: [] };
      return { verdict: 'removed', effects: [{ effect: 'remove_agent', agentId }, ...recorded([entry])] };
    },
    denial: ({ refusal }, verdict) =>
      verdict === 'has_tasks' ? { event: refusal.event, reason: 'agent_has_tasks' } : undefined,
  }),
);
