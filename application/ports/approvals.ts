/**
 * Queries of approvals. All methods may throw StorageUnavailable. Decisions open, answer, use and end them. Each approval
 * comes compared with its records of the ledger, read in the same statement.
 */

import type { Approval, ApprovalState } from '../../domain/approvals/approval.ts';
import type { ApprovalOrigin } from '../../domain/approvals/approval-records.ts';
import type { AgentId, ApprovalId, SponsorKey, TaskId } from '../../domain/identifiers.ts';
import type { Instant } from '../../domain/instant.ts';
import type { Compared } from '../../domain/ledger/compared.ts';
import type { Effects } from '../decisions/effect.ts';

export interface Approvals {
  /** An approval in any state, with its words; `undefined` if it is not stored. */
  find(approvalId: ApprovalId): Promise<Compared<TaskApproval, ApprovalOrigin> | undefined>;

  /** What waits for the person at `now`, oldest first: pending approvals whose time is not up. At most 1000. */
  waitingFor(sponsorKey: SponsorKey, now: Instant): Promise<readonly Compared<TaskApproval, ApprovalOrigin>[]>;

  /**
   * Up to `limit` approvals that do not wait for the person at `now`, by the time of the answer, or of the end of those without
   * one, the latest first.
   */
  settledFor(
    sponsorKey: SponsorKey,
    question: { readonly now: Instant; readonly limit: number },
  ): Promise<readonly Compared<TaskApproval, ApprovalOrigin>[]>;

  /** The approvals of a task in any state, newest first, up to `limit`. */
  ofTask(taskId: TaskId, limit: number): Promise<readonly Compared<Approval, ApprovalOrigin>[]>;

  /** A page of the approvals of all people with these filters, newest first. */
  list(question: ApprovalsQuestion): Promise<ApprovalsPage>;

  /** How many approvals of all people wait at `now`; counts to `most`. */
  countWaiting(question: { readonly now: Instant; readonly most: number }): Promise<number>;
}

export interface ApprovalFilters {
  readonly sponsorKey?: SponsorKey | undefined;
  readonly agentId?: AgentId | undefined;
  /** An open approval whose time is up counts as `expired`, although the sweeper has not recorded that yet. */
  readonly state?: ApprovalState | undefined;
}

export interface ApprovalsQuestion extends ApprovalFilters {
  /** Only those before this one; `undefined`: from the newest on. */
  readonly after: ApprovalId | undefined;
  readonly limit: number;
  /** How many approvals may be read for the page. It then may have fewer than `limit` although more follow. */
  readonly mostRead: number;
  readonly now: Instant;
}

export interface ApprovalsPage {
  readonly approvals: readonly Compared<TaskApproval, ApprovalOrigin>[];
  /** The last approval read, if the reading ended before the page was full. */
  readonly readUpTo: ApprovalId | undefined;
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

/**
 * The notices that approvals wait (`Service:Approvals:Notify`). The decision that opens an approval queues its notice. A
 * person gets one notice a minute, for all approvals that wait by then. A notice is sent at least once: if an instance dies
 * while it sends one, another instance sends it after the claim.
 */
export interface ApprovalNotices {
  /** Up to `limit` notices that are due at `now`, without those of persons who also have one that is due later. */
  due(question: { readonly now: Instant; readonly limit: number }): Promise<readonly ApprovalNotice[]>;

  /**
   * Claims all notices of the person that are due at `now`: they become due again at `until`. Returns false if no notice is due.
   * Also if one of the person is due later: another instance has claimed it, or has just sent one.
   */
  claim(claim: { readonly sponsorKey: SponsorKey; readonly now: Instant; readonly until: Instant }): Promise<boolean>;

  /** Removes a notice whose approval does not wait any more. */
  remove(approvalId: ApprovalId): Promise<void>;

  /** A notice was sent for all that were claimed. The person gets no other one before `until`. */
  sent(sending: { readonly approvalId: ApprovalId } & Parameters<ApprovalNotices['postpone']>[0]): Promise<void>;

  /** Counts a failure, and makes the claimed notices of the person due again at `until`. */
  postpone(settling: {
    readonly sponsorKey: SponsorKey;
    /** The end of the claim, by which its rows are known: later ones are not settled. */
    readonly claimedUntil: Instant;
    readonly until: Instant;
  }): Promise<void>;
}

export interface ApprovalNotice extends Pick<Effects['insert_approval_notice'], 'approvalId' | 'sponsorKey' | 'dueAt'> {
  /** Failed attempts so far. */
  readonly failures: number;
  /** Whether the approval still waits, and no notice of it was sent yet. */
  readonly isWaiting: boolean;
}

/** The receiver of notices. */
export interface NoticeReceiver {
  /** Whether it took the notice. Never throws. */
  send(notice: Pick<ApprovalNotice, 'approvalId' | 'sponsorKey'>): Promise<boolean>;
}
