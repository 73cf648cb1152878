/** Registers, changes and deletes agents, each time with a record (specification "Admin API"). */

import type { Agent } from '../../domain/agents/agent.ts';
import type { AgentId } from '../../domain/identifiers.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import { decision, type Judgement } from './decision.ts';
import { recorded } from './effect.ts';
import { ask } from './fact.ts';
import { exclusive, type Lock } from './lock.ts';
import { explained } from './operator-act.ts';

/** A name in two registrations would let two agents use the tokens that name one of them. */
interface Naming {
  readonly agent: Agent;
  /** Appended if another agent has one of the names. `undefined`: no name is new, and none is looked up. */
  readonly nameRefusal?: LedgerEntry | undefined;
}

const ALL_NAMES: Lock = exclusive('agent_names', '');

const locksOf = ({ agent, nameRefusal }: Naming): readonly Lock[] => [
  exclusive('agent', agent.agentId),
  ...(nameRefusal === undefined ? [] : [ALL_NAMES]),
];

const questionsOf = ({ agent: { agentId, mayActNames: names = [] }, nameRefusal }: Naming) => ({
  revision: ask('agent_revision', agentId),
  nameTaken: nameRefusal && ask('agent_name_taken', { agentId, names }),
});

const nameDenial = ({ nameRefusal }: Naming, verdict: string) =>
  nameRefusal !== undefined && verdict === 'name_taken'
    ? ({ event: nameRefusal.event, reason: 'may_act_name_taken' } as const)
    : undefined;

export interface AgentAddition extends Naming {
  /** At its first revision. */
  readonly agent: Agent;
  readonly entry: LedgerEntry;
  /** Appended if the id is taken. */
  readonly refusal: LedgerEntry;
}

export type AddAgentVerdict = 'registered' | 'already_exists' | 'name_taken';

export const addAgent = explained(
  decision({
    name: 'add_agent',
    transaction: 'own',
    locks: (addition: AgentAddition) => locksOf(addition),
    asks: (input) => questionsOf(input),
    judge: ({ agent, entry, refusal, nameRefusal }, { revision, nameTaken }): Judgement<AddAgentVerdict> => {
      if (revision !== undefined) return { verdict: 'already_exists', effects: recorded([refusal]) };
      if (nameRefusal !== undefined && nameTaken) return { verdict: 'name_taken', effects: recorded([nameRefusal]) };
      return { verdict: 'registered', effects: [{ effect: 'insert_agent', ...agent }, ...recorded([entry])] };
    },
    denial: (addition, verdict) =>
      verdict === 'already_exists'
        ? { event: addition.refusal.event, reason: 'agent_already_exists' }
        : nameDenial(addition, verdict),
  }),
);

export interface AgentChange extends Naming {
  readonly entry: LedgerEntry;
}

/**
 * Compare-and-swap: the agent is stored if the stored revision is still `agent.revision - 1`. The decision waits for
 * concurrent decisions on the old revision, so that none of them commits afterwards.
 */
export type ChangeAgentVerdict = 'replaced' | 'changed' | 'not_found' | 'name_taken';

export const changeAgent = explained(
  decision({
    name: 'change_agent',
    transaction: 'own',
    locks: (change: AgentChange) => locksOf(change),
    asks: (input) => questionsOf(input),
    judge: ({ agent, entry, nameRefusal }, { revision, nameTaken }): Judgement<ChangeAgentVerdict> => {
      if (revision === undefined) return { verdict: 'not_found', effects: [] };
      if (revision !== agent.revision - 1) return { verdict: 'changed', effects: [] };
      if (nameRefusal !== undefined && nameTaken) return { verdict: 'name_taken', effects: recorded([nameRefusal]) };
      return { verdict: 'replaced', effects: [{ effect: 'replace_agent', ...agent }, ...recorded([entry])] };
    },
    denial: (input, verdict) => nameDenial(input, verdict),
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
