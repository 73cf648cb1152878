/** Lists agents, all of them or a page (supplement "Agents", GET /admin/agents). */

import type { Agent } from '../../domain/agents/agent.ts';
import type { AgentId } from '../../domain/identifiers.ts';
import type { Agents } from '../ports/agents.ts';

export interface AgentsPage {
  /** In `agent_id` order. */
  readonly agents: readonly Agent[];
  /** The id to continue after; `undefined` on the last page. */
  readonly nextAfter: AgentId | undefined;
}

export async function listAgents(
  service: { readonly agents: Agents },
  page: { readonly after?: AgentId | undefined; readonly limit?: number | undefined },
): Promise<AgentsPage> {
  const { after, limit } = page;
  if (limit === undefined) return { agents: await service.agents.list({ after }), nextAfter: undefined };
  // Read one more than the limit: it tells whether another page follows.
  const found = await service.agents.list({ after, limit: limit + 1 });
  const agents = found.slice(0, limit);
  return { agents, nextAfter: found.length > limit ? agents.at(-1)?.agentId : undefined };
}
