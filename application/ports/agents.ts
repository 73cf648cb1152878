/** Queries of the registered agents. All methods may throw StorageUnavailable. */

import type { Agent } from '../../domain/agents/agent.ts';
import type { AgentId } from '../../domain/identifiers.ts';

/** The registered agents. */
export interface Agents {
  find(agentId: AgentId): Promise<Agent | undefined>;

  /** The agent whose `client_id_document` this is. No two agents have one URL. */
  findByDocument(uri: string): Promise<Agent | undefined>;

  /** Agents after `after` in `agent_id` order (by code point); all of them without a `limit`. */
  list(page: { readonly after?: AgentId | undefined; readonly limit?: number | undefined }): Promise<readonly Agent[]>;

  /**
   * The agents that a program may be that registers itself: enabled public clients with `redirect_uris`. An agent with a
   * document is none, because its document has its redirect URIs.
   */
  publicClients(): Promise<readonly Agent[]>;

  /** Up to `limit` agents whose tokens may live longer than `above` seconds, those with the longest tokens first. */
  longestTokens(question: { readonly above: number; readonly limit: number }): Promise<readonly LongTokens[]>;
}

export type LongTokens = Pick<Agent, 'agentId' | 'maxTokenTtl'>;
