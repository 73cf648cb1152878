/** The internal parts of an agent, for the package's other entry points. Programs only see the agent. */

import type { ControlPlane } from './control-plane.ts';
import type { CheckedAgentOptions } from './options.ts';

interface AgentParts {
  readonly options: CheckedAgentOptions;
  readonly plane: ControlPlane;
}

const kept = new WeakMap<object, AgentParts>();

export function keepParts<Agent extends object>(agent: Agent, parts: AgentParts): Agent {
  kept.set(agent, parts);
  return agent;
}

/** @param agent was accepted by `isAgent` */
export function partsOf(agent: object): AgentParts {
  const parts = kept.get(agent);
  if (parts === undefined) throw new TypeError('agent must be made by createAgent.');
  return parts;
}

/** Whether `createAgent` made it. */
export function isAgent(value: unknown): boolean {
  return typeof value === 'object' && value !== null && kept.has(value);
}
