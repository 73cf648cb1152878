/**
 * Registrations as they were read last, to spare each exchange and refresh the reading. Nothing is allowed on the
 * strength of memory alone: the decision that commits names the revision it was judged on, and storage refuses another
 * (`agent_changed`). Nothing is refused on it either: before a refusal is final, what it was judged on is read anew.
 */

import type { Agent } from '../../domain/agents/agent.ts';
import type { AgentId } from '../../domain/identifiers.ts';
import type { Agents } from '../ports/agents.ts';

/** One request's view of the registrations. */
export interface AgentsAtHand {
  find(agentId: AgentId): Promise<Agent | undefined>;
  /**
   * Whether what `find` answered still stands, where it came from memory; what does not stand is forgotten, so that
   * the next `find` reads.
   */
  confirm(): Promise<boolean>;
  /** Drops what `find` answered last, read or remembered: storage holds another revision by now. */
  forget(): void;
}

/** Far more agents than one replica serves at a time; those added first go first. */
const MAX_REMEMBERED = 10_000;

export function rememberedAgents(agents: Pick<Agents, 'find'>): () => AgentsAtHand {
  const remembered = new Map<AgentId, Agent>();

  async function read(agentId: AgentId): Promise<Agent | undefined> {
    const agent = await agents.find(agentId);
    remembered.delete(agentId);
    if (agent === undefined) return undefined;
    remembered.set(agentId, agent);
    const [eldest] = remembered.keys();
    if (remembered.size > MAX_REMEMBERED && eldest !== undefined) remembered.delete(eldest);
    return agent;
  }

  return () => {
    let fromMemory: Agent | undefined;
    let found: Agent | undefined;
    return {
      async find(agentId) {
        fromMemory = remembered.get(agentId);
        found = fromMemory ?? (await read(agentId));
        return found;
      },
      async confirm() {
        if (fromMemory === undefined) return true;
        const current = await read(fromMemory.agentId);
        return current?.revision === fromMemory.revision;
      },
      forget() {
        // Another request may have read the current registration in the meantime: that one stays.
        if (found !== undefined && remembered.get(found.agentId) === found) remembered.delete(found.agentId);
      },
    };
  };
}
