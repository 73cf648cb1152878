/**
 * Examines whether agents keep to the bounds of the settings. The bounds are compared when an agent is registered or changed, so
 * an agent from before keeps its own lives of tasks and tokens.
 */

import { formatDuration } from '../../domain/duration.ts';
import type { LongTokens } from '../ports/agents.ts';
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
