/**
 * The agent cache: registrations as last read, so that an exchange or refresh need not read them again. A stale entry
 * never allows a request: the decision names the revision it is based on, and fails with `agent_changed` if another is
 * stored. A stale entry never refuses a request either: a refusal is final only after the agent was read again.
 */

import type { Agent } from '../../domain/agents/agent.ts';
import type { AgentId } from '../../domain/identifiers.ts';
import { denied, type Outcome } from '../outcome.ts';
import type { Agents } from '../ports/agents.ts';

/** One request's view of the cache. */
export interface CachedAgents {
  find(agentId: AgentId): Promise<Agent | undefined>;
  /**
   * Whether the agent that `find` returned is still current. If it came from the cache, it is read again, and the cache
   * is updated.
   */
  confirm(): Promise<boolean>;
  /** Removes the agent that `find` returned last from the cache: storage has reported another revision. */
  forget(): void;
}

/** Far more agents than one replica serves at a time. The oldest entry is evicted first. */
const MAX_CACHED = 10_000;

export function agentCache(agents: Pick<Agents, 'find'>): () => CachedAgents {
  const cache = new Map<AgentId, Agent>();

  async function read(agentId: AgentId): Promise<Agent | undefined> {
    const agent = await agents.find(agentId);
    cache.delete(agentId);
    if (agent === undefined) return undefined;
    cache.set(agentId, agent);
    const [oldest] = cache.keys();
    if (cache.size > MAX_CACHED && oldest !== undefined) cache.delete(oldest);
    return agent;
  }

  return () => {
    let fromCache: Agent | undefined;
    let found: Agent | undefined;
    return {
      async find(agentId) {
        fromCache = cache.get(agentId);
        found = fromCache ?? (await read(agentId));
        return found;
      },
      async confirm() {
        if (fromCache === undefined) return true;
        const current = await read(fromCache.agentId);
        return current?.revision === fromCache.revision;
      },
      forget() {
        // Keep an entry that another request has read in the meantime.
        if (found !== undefined && cache.get(found.agentId) === found) cache.delete(found.agentId);
      },
    };
  };
}

/** Each conflict means that another change was committed. Eight conflicts in one request mean very many changes. */
const MAX_ATTEMPTS = 8;

const KEPT_CHANGING = 'What the request was judged on changed in every round. Retry the request.';

/**
 * Retry on conflict. A decision names the versions it is based on (the agent's revision, the grant's scope). If one
 * changed before the decision could commit, nothing was written, and the whole request is checked again. After the last
 * conflict the request is denied with `overloaded`: the denial is recorded, and no assertion is spent.
 */
export async function retryOnConflict<T>(
  agents: CachedAgents,
  judge: (agents: CachedAgents) => Promise<Outcome<T> | 'conflict'>,
): Promise<Outcome<T>> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const outcome = await judge(agents);
    if (outcome === 'conflict') agents.forget();
    // A refusal is final only if the cached agent is still current.
    else if (outcome.kind === 'allowed' || (await agents.confirm())) return outcome;
  }
  return denied('overloaded', { detail: KEPT_CHANGING });
}
