/** A row of the matrix of effects and facts: an effect, and what facts and queries say before and after it. */

import type { Effect, EffectName, TaskEnd } from '../../application/decisions/effect.ts';
import type { About, FactName } from '../../application/decisions/fact.ts';
import type { Agent } from '../../domain/agents/agent.ts';
import { anAgent } from '../support/domain-fixtures.ts';
import type { RawStorage } from './raw-storage.ts';
import { anOpening, newAgentId } from './storage-fixtures.ts';

/** Asks a fact or a query. */
export type See = (storage: RawStorage) => Promise<unknown>;

export interface EffectRow {
  readonly given?: readonly Effect[];
  readonly effect: Effect;
  readonly seen: readonly (readonly [see: See, before: unknown, after: unknown])[];
}

export type EffectRows = { readonly [Name in EffectName]: () => EffectRow };

/** The facts that the rows have asked. */
export const asked = new Set<FactName>();

export function fact<Name extends FactName>(name: Name, about: About<Name>): See {
  asked.add(name);
  return (storage) => storage.read(name, about);
}

export const newAgent = (changes: Partial<Agent> = {}) => anAgent({ agentId: newAgentId(), revision: 1, ...changes });
export const inserted = (agent: Agent): Effect => ({ effect: 'insert_agent', ...agent });

/** A task of a new agent, with the effects that store both. */
export function aTask(changes: Parameters<typeof anOpening>[1] = {}) {
  const agent = newAgent();
  const { task, grantHash } = anOpening(agent, changes);
  return { agent, task, grantHash, given: [inserted(agent), { effect: 'insert_task', task, grantHash }] as const };
}

export const end = (state: TaskEnd['state'], reason: TaskEnd['record']['reason']): TaskEnd => ({
  state,
  record: { event: `task.${state}`, reason },
});
