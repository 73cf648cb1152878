/** Queries of approvals. All methods may throw StorageUnavailable. Decisions open, answer, use and end them. */

import type { Approval } from '../../domain/approvals/approval.ts';
import type { AgentId, ApprovalId, SponsorKey, TaskId } from '../../domain/identifiers.ts';
import type { Instant } from '../../domain/instant.ts';

export interface Approvals {
  /** An approval in any state, with its words; `undefined` if it is not stored. */
  find(approvalId: ApprovalId): Promise<TaskApproval | undefined>;

  /** What waits for the person at `now`, oldest first: pending approvals whose time is not up. At most 1000. */
  waitingFor(sponsorKey: SponsorKey, now: Instant): Promise<readonly TaskApproval[]>;

  /** The approvals of a task in any state, newest first, up to `limit`. */
  ofTask(taskId: TaskId, limit: number): Promise<readonly Approval[]>;

  /** How many approvals of all people wait at `now`; counts to `most`. */
  countWaiting(question: { readonly now: Instant; readonly most: number }): Promise<number>;
}

/** An approval with what a person must know about its task. */
export interface TaskApproval extends Approval {
  readonly agentId: AgentId;
  /** `undefined` if the agent has been removed. */
  readonly displayName: string | undefined;
  /** The person in records and tokens: the `sub`. */
  readonly sponsor: string;
  /** The audience of the task, which is that of the tool server. */
  readonly audience: string;
}

/** The notices that an approval waits (`Service:Approvals:Notify`). */
export interface ApprovalNotices {
  /**
   * Takes a notice that is due, calls `send`, and settles it as `Outbox.drain` settles records. Returns `nothing_due`
   * if none is. `send` never throws.
   */
  drain(due: { readonly now: Instant; readonly limit: number }, send: SendNotices): Promise<NoticesOutcome>;
}

export interface ApprovalNotice {
  readonly approvalId: ApprovalId;
  readonly sponsorKey: SponsorKey;
}

/** Returns whether the receiver took all of them. */
export type SendNotices = (notices: readonly ApprovalNotice[]) => Promise<boolean>;

export type NoticesOutcome = 'nothing_due' | 'delivered' | 'failed';
