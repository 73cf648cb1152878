/** Registers, changes and deletes agents, each time with a record (specification "Admin API"). */

import type { Agent } from '../../domain/agents/agent.ts';
import type { AgentId } from '../../domain/identifiers.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import { decision, type Judgement } from './decision.ts';
import { recorded } from './effect.ts';
import { voidAuthorizations } from './ending.ts';
import { ask } from './fact.ts';
import { exclusive, type Lock } from './lock.ts';
import { explained } from './operator-act.ts';

/**
 * What no two agents may have. A name in two registrations would let two agents use the tokens that name one of them. The URL
 * of a client's document is a `client_id`, and names one agent.
 */
interface Naming {
  readonly agent: Agent;
  /** Appended if another agent has one of the names. `undefined`: no name is new, and none is looked up. */
  readonly nameRefusal?: LedgerEntry | undefined;
  /** Appended if another agent has the document. `undefined`: it is not new, and is not looked up. */
  readonly documentRefusal?: LedgerEntry | undefined;
}

const ALL_NAMES: Lock = exclusive('agent_names', '');

const locksOf = ({ agent, nameRefusal, documentRefusal }: Naming): readonly Lock[] => [
  exclusive('agent', agent.agentId),
  ...(nameRefusal === undefined && documentRefusal === undefined ? [] : [ALL_NAMES]),
];

const questionsOf = ({ agent, nameRefusal, documentRefusal }: Naming) => {
  const { agentId, mayActNames: names = [], clientIdDocument: uri } = agent;
  return {
    revision: ask('agent_revision', agentId),
    nameTaken: nameRefusal && ask('agent_name_taken', { agentId, names }),
    documentTaken: documentRefusal && uri !== undefined ? ask('agent_document_taken', { agentId, uri }) : undefined,
  };
};

/** A disabled agent keeps its tasks, and may be enabled again: what its people have not allowed by then must be asked again. */
const endOfAgent = ({ agentId }: Pick<Agent, 'agentId'>, { at }: LedgerEntry) =>
  voidAuthorizations({ kind: 'agent', agentId }, { at, reason: 'agent_disabled' });

interface Taken {
  readonly nameTaken: boolean | undefined;
  readonly documentTaken: boolean | undefined;
}

const TAKEN = { name_taken: 'may_act_name_taken', document_taken: 'client_id_document_taken' } as const;
type TakenVerdict = keyof typeof TAKEN;

/** The refusal, if another agent has what this one would get. */
function refusedIfTaken(naming: Naming, taken: Taken): Judgement<TakenVerdict> | undefined {
  const { nameRefusal, documentRefusal } = naming;
  if (nameRefusal && taken.nameTaken) return { verdict: 'name_taken', effects: recorded([nameRefusal]) };
  if (documentRefusal && taken.documentTaken)
    return { verdict: 'document_taken', effects: recorded([documentRefusal]) };
  return undefined;
}

const denialOfTaken = ({ nameRefusal, documentRefusal }: Naming, verdict: string) => {
  const refusal = { name_taken: nameRefusal, document_taken: documentRefusal }[verdict];
  return refusal && { event: refusal.event, reason: TAKEN[verdict as TakenVerdict] };
};

interface AgentAddition extends Naming {
  /** At its first revision. */
  readonly agent: Agent;
  readonly entry: LedgerEntry;
  /** Appended if the id is taken. */
  readonly refusal: LedgerEntry;
}

type AddAgentVerdict = 'registered' | 'already_exists' | TakenVerdict;

export const addAgent = explained(
  decision({
    name: 'add_agent',
    transaction: 'own',
    locks: (addition: AgentAddition) => locksOf(addition),
    asks: (input) => questionsOf(input),
    judge: (addition, { revision, ...taken }): Judgement<AddAgentVerdict> => {
      const { agent, entry, refusal } = addition;
      if (revision !== undefined) return { verdict: 'already_exists', effects: recorded([refusal]) };
      const refused = refusedIfTaken(addition, taken);
      if (refused !== undefined) return refused;
      return { verdict: 'registered', effects: [{ effect: 'insert_agent', ...agent }, ...recorded([entry])] };
    },
    denial: (addition, verdict) =>
      verdict === 'already_exists'
        ? { event: addition.refusal.event, reason: 'agent_already_exists' }
        : denialOfTaken(addition, verdict),
  }),
);

interface AgentChange extends Naming {
  readonly entry: LedgerEntry;
}

/**
 * Compare-and-swap: the agent is stored if the stored revision is still `agent.revision - 1`. The decision waits for
 * concurrent decisions on the old revision, so that none of them commits afterwards.
 */
type ChangeAgentVerdict = 'replaced' | 'changed' | 'not_found' | TakenVerdict;

export const changeAgent = explained(
  decision({
    name: 'change_agent',
    transaction: 'own',
    locks: (change: AgentChange) => locksOf(change),
    asks: (input) => questionsOf(input),
    judge: (change, { revision, ...taken }): Judgement<ChangeAgentVerdict> => {
      const { agent, entry } = change;
      if (revision === undefined) return { verdict: 'not_found', effects: [] };
      if (revision !== agent.revision - 1) return { verdict: 'changed', effects: [] };
      const refused = refusedIfTaken(change, taken);
      if (refused !== undefined) return refused;
      const ended = agent.enabled ? [] : endOfAgent(agent, entry);
      return { verdict: 'replaced', effects: [{ effect: 'replace_agent', ...agent }, ...ended, ...recorded([entry])] };
    },
    denial: (input, verdict) => denialOfTaken(input, verdict),
  }),
  (verdict) => verdict !== 'changed',
);

/** The same for a change that disables the agent: it is a switch. */
export const disableAgent: typeof changeAgent = { ...changeAgent, name: 'disable_agent', transaction: 'operator' };

interface AgentDeletion {
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
      return {
        verdict: 'removed',
        effects: [{ effect: 'remove_agent', agentId }, ...endOfAgent({ agentId }, entry), ...recorded([entry])],
      };
    },
    denial: ({ refusal }, verdict) =>
      verdict === 'has_tasks' ? { event: refusal.event, reason: 'agent_has_tasks' } : undefined,
  }),
);
