import type { Agent } from '../../domain/agents/agent.ts';
import type { AgentId } from '../../domain/identifiers.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';

/**
 * The registered agents. Every write is one transaction with its ledger entry: both are stored, or neither is. All
 * methods may throw StorageUnavailable.
 */
export interface Agents {
  find(agentId: AgentId): Promise<Agent | undefined>;

  /** Agents after `after` in `agent_id` order (by code point); all of them without a `limit`. */
  list(page: { readonly after?: AgentId | undefined; readonly limit?: number | undefined }): Promise<readonly Agent[]>;

  /**
   * Stores an agent at its first revision, and appends `entry`. If the id is taken, only `refusal` is appended.
   */
  register(agent: Agent, entry: LedgerEntry, refusal: LedgerEntry): Promise<'registered' | 'already_exists'>;

  /**
   * Compare-and-swap: stores `agent` and `entry` if the stored revision is still `agent.revision - 1`. Waits for
   * concurrent decisions on the old revision, so that none of them commits afterwards.
   */
  replace(agent: Agent, entry: LedgerEntry): Promise<'replaced' | 'changed' | 'not_found'>;

  /**
   * Removes an agent and appends `entry`. If any task of the agent is stored, live or ended, only `refusal` is
   * appended.
   */
  remove(agentId: AgentId, entry: LedgerEntry, refusal: LedgerEntry): Promise<'removed' | 'has_tasks' | 'not_found'>;
}
