/** Registers, changes and deletes agents, each time with a record (specification "Admin API"). */

import type { Agent } from '../../domain/agents/agent.ts';
import { unregisteredProblems } from '../../domain/agents/field-rules.ts';
import { fieldNames } from '../../domain/agents/registration-draft.ts';
import { type FieldError, fieldErrors } from '../../domain/field-error.ts';
import type { AgentId } from '../../domain/identifiers.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import { decision, type Judgement } from './decision.ts';
import { recorded } from './effect.ts';
import { voidAuthorizations } from './ending.ts';
import { ask } from './fact.ts';
import { exclusive, type Lock, shared } from './lock.ts';
import { explained } from './operator-act.ts';

/**
 * What of an agent depends on other agents. A name in two registrations would let two agents use the tokens that name one of
 * them. The URL of a client's document is a `client_id`, and names one agent. An agent in `delegatesTo` is registered, and
 * stays so.
 */
interface Naming {
  readonly agent: Agent;
  /** Appended if another agent has one of the names. `undefined`: no name is new, and none is looked up. */
  readonly nameRefusal?: LedgerEntry | undefined;
  /** Appended if another agent has the document. `undefined`: it is not new, and is not looked up. */
  readonly documentRefusal?: LedgerEntry | undefined;
  /** Whether `delegatesTo` is new. Each agent in it must then be registered. */
  readonly newDelegates?: boolean | undefined;
}

const ALL_NAMES: Lock = exclusive('agent_names', '');

/** The other agents that must be registered. */
const delegatesOf = ({ agent, newDelegates }: Naming): readonly AgentId[] =>
  newDelegates === true ? (agent.delegatesTo ?? []).filter((agentId) => agentId !== agent.agentId) : [];

/** A deletion of an agent that gets named waits, or comes first: it takes the same lock exclusively. */
const locksOf = (naming: Naming): readonly Lock[] => {
  const { agent, nameRefusal, documentRefusal } = naming;
  return [
    exclusive('agent', agent.agentId),
    ...delegatesOf(naming).map((agentId) => shared('agent', agentId)),
    ...(nameRefusal === undefined && documentRefusal === undefined ? [] : [ALL_NAMES]),
  ];
};

const questionsOf = (naming: Naming) => {
  const { agent, nameRefusal, documentRefusal } = naming;
  const delegates = delegatesOf(naming);
  const { agentId, mayActNames: names = [], clientIdDocument: uri } = agent;
  return {
    revision: ask('agent_revision', agentId),
    nameTaken: nameRefusal && ask('agent_name_taken', { agentId, names }),
    documentTaken: documentRefusal && uri !== undefined ? ask('agent_document_taken', { agentId, uri }) : undefined,
    registered: delegates.length === 0 ? undefined : ask('registered_agents', delegates),
  };
};

/** Nothing is written, and nothing is recorded: like every other error of a field, it is the request's. */
interface InvalidDelegates {
  readonly kind: 'invalid';
  readonly errors: readonly FieldError[];
}

function invalidDelegates({ agent }: Naming, registered: readonly AgentId[] | undefined): InvalidDelegates | undefined {
  if (registered === undefined) return undefined;
  const known = new Set([agent.agentId, ...registered]);
  const problems = unregisteredProblems(agent.delegatesTo ?? [], (agentId) => known.has(agentId));
  return problems.length === 0
    ? undefined
    : { kind: 'invalid', errors: fieldErrors(fieldNames.delegatesTo, ...problems) };
}

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

const denialOfTaken = ({ nameRefusal, documentRefusal }: Naming, verdict: unknown) => {
  if (typeof verdict !== 'string') return undefined;
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

type AddAgentVerdict = 'registered' | 'already_exists' | TakenVerdict | InvalidDelegates;

export const addAgent = explained(
  decision({
    name: 'add_agent',
    transaction: 'own',
    locks: (addition: AgentAddition) => locksOf(addition),
    asks: (input) => questionsOf(input),
    judge: (addition, { revision, registered, ...taken }): Judgement<AddAgentVerdict> => {
      const { agent, entry, refusal } = addition;
      const invalid = invalidDelegates(addition, registered);
      if (invalid !== undefined) return { verdict: invalid, effects: [] };
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
type ChangeAgentVerdict = 'replaced' | 'changed' | 'not_found' | TakenVerdict | InvalidDelegates;

export const changeAgent = explained(
  decision({
    name: 'change_agent',
    transaction: 'own',
    locks: (change: AgentChange) => locksOf(change),
    asks: (input) => questionsOf(input),
    judge: (change, { revision, registered, ...taken }): Judgement<ChangeAgentVerdict> => {
      const { agent, entry } = change;
      if (revision === undefined) return { verdict: 'not_found', effects: [] };
      if (revision !== agent.revision - 1) return { verdict: 'changed', effects: [] };
      const invalid = invalidDelegates(change, registered);
      if (invalid !== undefined) return { verdict: invalid, effects: [] };
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
  /** Appended if another agent names the agent in its `delegates_to`. */
  readonly namedRefusal: LedgerEntry;
}

export type DeleteAgentVerdict = 'removed' | 'has_tasks' | 'named_by_others' | 'not_found';

export const deleteAgent = explained(
  decision({
    name: 'delete_agent',
    // A switch, as disabling is.
    transaction: 'operator',
    locks: ({ agentId }: AgentDeletion) => [exclusive('agent', agentId)],
    asks: ({ agentId }) => ({
      revision: ask('agent_revision', agentId),
      hasTasks: ask('agent_has_tasks', agentId),
      isNamed: ask('agent_named_by_others', agentId),
    }),
    judge: (
      { agentId, entry, refusal, namedRefusal },
      { revision, hasTasks, isNamed },
    ): Judgement<DeleteAgentVerdict> => {
      if (hasTasks) return { verdict: 'has_tasks', effects: recorded([refusal]) };
      if (revision === undefined) return { verdict: 'not_found', effects: [] };
      if (isNamed) return { verdict: 'named_by_others', effects: recorded([namedRefusal]) };
      return {
        verdict: 'removed',
        effects: [
          { effect: 'remove_agent', agentId },
          { effect: 'forget_delegation_refusals', agentId },
          ...endOfAgent({ agentId }, entry),
          ...recorded([entry]),
        ],
      };
    },
    denial: ({ refusal, namedRefusal }, verdict) => {
      if (verdict === 'has_tasks') return { event: refusal.event, reason: 'agent_has_tasks' };
      return verdict === 'named_by_others' ? { event: namedRefusal.event, reason: 'agent_named_by_others' } : undefined;
    },
  }),
);
