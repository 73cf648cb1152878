/** The registration of a program that only PKCE authenticates, at one MCP server. */

import type { Mandate, RegisteredAgent } from '../mandate.ts';

export function registerProgram(
  mandate: Mandate,
  audience: string,
  changes: Readonly<Record<string, unknown>>,
): Promise<RegisteredAgent> {
  return mandate.agent({
    jwks: undefined,
    public_client: true,
    allowed_audiences: [audience],
    high_risk_audiences: [],
    max_token_ttl: 'PT30S',
    ...changes,
  });
}

/** Ends all tasks of the agent, as an operator does. */
export async function endTasks(mandate: Mandate, agent: RegisteredAgent): Promise<void> {
  const answer = await mandate.admin('DELETE', `/admin/agents/${agent.id}/tasks`);
  if (answer.status !== 200) throw new Error(`ending the tasks answered ${answer.status}: ${answer.text}`);
}
