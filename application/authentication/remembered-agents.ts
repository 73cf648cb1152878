/**
 * The agent cache: registrations as last read, so that an exchange or refresh need not read them again. The cache alone
 * never allows anything: the committing decision names the revision it was judged on, and storage refuses any other
 * revision (`agent_changed`). It never refuses anything either: a refusal based on a cached agent is final only after
 * the agent has been read again.
 */

import type { Agent } from '../../domain/agents/agent.ts';
import type { AgentId } from '../../domain/identifiers.ts';
import type { Agents } from '../ports/agents.ts';

/** One request's view of the cache. */
export interface AgentsAtHand {
  find(agentId: AgentId): Promise<Agent | undefined>;
  /**
   * Whether the agent that `find` returned is still current. A cached agent is read again to find out, and the cache
   * is updated.
   */
  confirm(): Promise<boolean>;
  /** Removes the agent that `find` returned last from the cache: storage has reported another revision. */
  forget(): void;
}

/** Far more agents than one replica serves at a time. The oldest entry is evicted first. */
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
        // Keep an entry that another request has read in the meantime.
        if (found !== undefined && remembered.get(found.agentId) === found) remembered.delete(found.agentId);
      },
    };
  };
}
