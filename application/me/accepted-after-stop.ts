/** How long tool servers that do not ask the service may accept the tokens of a task after its end. */

import { acceptedFor } from '../../domain/tasks/lifetime.ts';
import type { Agents } from '../ports/agents.ts';

interface TokenLives {
  readonly agents: Pick<Agents, 'longestTokens'>;
  /** `Service:Agents:MaxTokenTtl`, in seconds. A registration from before a change of it keeps its own. */
  readonly maxTokenTtl: number;
}

/**
 * By the longest `max_token_ttl` that any agent is registered with, because any of them may act for the person.
 *
 * @returns seconds
 * @throws StorageUnavailable
 */
export async function acceptedAfterStop({ agents, maxTokenTtl }: TokenLives): Promise<number> {
  const [longest] = await agents.longestTokens({ above: 0, limit: 1 });
  // Without agents there are no tokens.
  return acceptedFor(longest?.maxTokenTtl ?? maxTokenTtl);
}
