/** Queries of the registered agents. All methods may throw StorageUnavailable. */

import type { Agent } from '../../domain/agents/agent.ts';
import type { AgentId } from '../../domain/identifiers.ts';

/** The registered agents. */
export interface Agents {
  find(agentId: AgentId): Promise<Agent | undefined>;

  /** Agents after `after` in `agent_id` order (by code point); all of them without a `limit`. */
  list(page: { readonly after?: AgentId | undefined; readonly limit?: number | undefined }): Promise<readonly Agent[]>;
}
