/**
 * Examines whether agents keep to the bounds of the settings, and whether they can hand work to the agents that they name. The
 * bounds are compared when an agent is registered or changed, so an agent from before keeps its own lives of tasks and tokens.
 */

import type { Agent } from '../../domain/agents/agent.ts';
import { formatDuration } from '../../domain/duration.ts';
import type { AgentId } from '../../domain/identifiers.ts';
import type { Agents, LongTokens } from '../ports/agents.ts';
import { type Finding, ok, summarizeList, warning } from './examine.ts';

/** The finding counts at most so many, and names the first. */
export const MOST_AGENTS = 1000;

/**
 * @param above the agents whose tokens may live longer than the bound, MOST_AGENTS at most
 * @param bound `Service:Agents:MaxTokenTtl`, in seconds
 */
export function judgeTokenLives(above: readonly LongTokens[], bound: number): Finding {
  const setting = `Service:Agents:MaxTokenTtl (${formatDuration(bound)})`;
  if (above.length === 0) return ok(`No agent has a max_token_ttl above ${setting}.`);
  const names = summarizeList(above.map(({ agentId, maxTokenTtl }) => `${agentId} (${formatDuration(maxTokenTtl)})`));
  return warning(
    `The max_token_ttl of some agents is above ${setting}, and their new tokens too live that long: ${names}.`,
    'Change it with PATCH /admin/agents/{agent_id} or `mandate agent apply`. Tokens that were issued before live as long as they were to.',
  );
}

/** One read takes so many agents, so that a running service does other work between two reads. */
const PAGE = 1000;

export async function examineHandOvers(agents: Pick<Agents, 'list'>): Promise<Finding> {
  const all = new Map<AgentId, Agent>();
  let after: AgentId | undefined;
  do {
    const page = await agents.list({ after, limit: PAGE });
    for (const agent of page) all.set(agent.agentId, agent);
    after = page.length < PAGE ? undefined : page.at(-1)?.agentId;
  } while (after !== undefined);
  return judgeHandOvers(all);
}

function judgeHandOvers(agents: ReadonlyMap<AgentId, Agent>): Finding {
  const naming = [...agents.values()].filter(({ delegatesTo }) => delegatesTo !== undefined);
  if (naming.length === 0) return ok('No agent has a delegates_to, so none can hand work to another.');
  const useless = naming.flatMap((agent) =>
    (agent.delegatesTo ?? []).flatMap((id) => {
      const why = whyNot(agent, agents.get(id));
      return why === undefined ? [] : [`${agent.agentId} to ${id} (${why})`];
    }),
  );
  if (useless.length === 0) return ok('The registrations of all agents in a delegates_to let them take up work.');
  return warning(
    `Agents name others in their delegates_to that cannot take up their work: ${summarizeList(useless)}.`,
    'Change one of the two agents with PATCH /admin/agents/{agent_id} or `mandate agent apply`, or take the name out.',
  );
}

/** Why each hand-over from one agent to the other fails; `undefined` if one may succeed. */
function whyNot(from: Agent, to: Agent | undefined): string | undefined {
  if (to === undefined) return 'not registered';
  const shallow = [from, to].find(({ maxDelegationDepth }) => maxDelegationDepth < 2);
  if (shallow !== undefined) return `max_delegation_depth of ${shallow.agentId} is 1`;
  if (from !== to && !to.enabled) return 'disabled';
  // A client_id alone takes up nothing.
  if (to.keys.kind === 'none' && to.clientIdDocument === undefined) return 'no key';
  if (!from.allowedAudiences.some((audience) => to.allowedAudiences.includes(audience))) return 'no common audience';
  return from.allowedScopes.some((scope) => to.allowedScopes.includes(scope)) ? undefined : 'no common scope';
}
