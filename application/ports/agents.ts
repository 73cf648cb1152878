import type { Agent } from '../../domain/agents/agent.ts';
import type { AgentId } from '../../domain/identifiers.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';

/**
 * The registered agents. Every write is one transaction with its ledger entry: both are there afterwards, or neither.
 * All methods may throw StorageUnavailable.
 */
export interface Agents {
  find(agentId: AgentId): Promise<Agent | undefined>;

  /** In `agent_id` order (by code point), those after `after`, at most `limit` when it is given. */
  list(page: { readonly after?: AgentId | undefined; readonly limit?: number | undefined }): Promise<readonly Agent[]>;

  /**
   * Adds an agent at its first revision, and `entry`. Where the id is taken nothing of the agent is written, and `refusal` is
   * appended instead.
   */
  register(agent: Agent, entry: LedgerEntry, refusal: LedgerEntry): Promise<'registered' | 'already_exists'>;

  /**
   * Compare and swap: stores `agent` and `entry` if the stored revision is still `agent.revision - 1`. Waits for
   * decisions under way that were made on the old revision, so that none of them commits afterwards.
   */
  replace(agent: Agent, entry: LedgerEntry): Promise<'replaced' | 'changed' | 'not_found'>;

  /**
   * Removes an agent none of whose tasks, finished or not, is stored, and appends `entry`; where one is, nothing is
   * removed and `refusal` is appended.
   */
  remove(agentId: AgentId, entry: LedgerEntry, refusal: LedgerEntry): Promise<'removed' | 'has_tasks' | 'not_found'>;
}
