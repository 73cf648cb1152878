/** What commands do on a running service, through its admin API. */

import type { AgentId, SponsorKey, TaskId } from '../../domain/identifiers.ts';

/**
 * Thrown if the service does not answer, answers in an unexpected form, or refuses the credential. Further requests
 * would fail too. Whether the last request was applied is unknown. The message is a sentence for the operator, without
 * received data.
 */
export class AdminApiFailure extends Error {
  override readonly name = 'AdminApiFailure';
}

export type StopTarget =
  | { readonly kind: 'task'; readonly taskId: TaskId }
  | { readonly kind: 'agent'; readonly agentId: AgentId }
  | { readonly kind: 'person'; readonly sponsorKey: SponsorKey }
  | { readonly kind: 'everything' };

/** What the service says of a target before a change. */
export interface TargetLook {
  /** `undefined` if the service does not list tasks, because it has no operators, or does not answer in time. */
  readonly live:
    | {
        readonly tasks: number;
        readonly hasMore: boolean;
        /** Whether the agent may hand work to others: the end of its tasks ends theirs below, which are not counted here. */
        readonly mayHaveBelow: boolean;
      }
    | undefined;
  /** People with live tasks or blocks, if no task and no block names the target, a person. Otherwise `undefined`. */
  readonly peopleInstead: readonly string[] | undefined;
}

/** The operator's switches of a running service. Each may be repeated. @throws AdminApiFailure, like all methods here */
export interface EmergencySwitches {
  /** `not_found`: there is no such task or agent. */
  stop(
    target: StopTarget,
  ): Promise<{ readonly kind: 'ended'; readonly tasks: number } | { readonly kind: 'not_found' }>;
  block(sponsorKey: SponsorKey): Promise<{ readonly tasks: number }>;
  /** `refused`: other sources still block the person. `pending`: a second operator must ask as well. */
  unblock(sponsorKey: SponsorKey): Promise<'lifted' | 'refused' | 'pending' | 'not_blocked' | 'not_owned'>;
  disable(agentId: AgentId): Promise<'disabled' | 'not_found'>;
  /** Reads, and changes nothing. It takes a few seconds at most, and never fails. */
  look(target: StopTarget): Promise<TargetLook>;
  /**
   * Whether an ended task of the target may be stored. If none is and no task is live, the target has no token. `true` too if the
   * service does not list tasks, because it has no operators.
   */
  hasEndedTasks(target: StopTarget): Promise<boolean>;
  /**
   * The longest life of a token, in seconds: the agent's, or that of all agents. Of all too if agents may hand work to other
   * agents, whose tasks end with the agent's. `undefined` if it cannot be read.
   */
  longestTokenTtl(agentId?: AgentId): Promise<number | undefined>;
}
