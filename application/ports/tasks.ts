/** Queries of tasks, their grants and tokens. All methods may throw StorageUnavailable. */

import type { AgentId, SponsorKey, TaskId, TokenId } from '../../domain/identifiers.ts';
import type { Instant } from '../../domain/instant.ts';
import type { Difference } from '../../domain/ledger/compared.ts';
import type { Scope } from '../../domain/scope.ts';
import type { EndReason } from '../../domain/tasks/lifetime.ts';
import type { StatedPurpose } from '../../domain/tasks/purpose.ts';
import type { Grant, GrantHash, Task, TaskState } from '../../domain/tasks/task.ts';
import type { StoredTokenFacts } from '../../domain/tasks/task-token.ts';

/** Tasks, their grants and tokens. */
export interface Tasks {
  /** The grant, if it was issued to this agent; `undefined` for another agent's. */
  findGrant(agentId: AgentId, grantHash: GrantHash): Promise<Grant | undefined>;

  /** Whether the grant of the task rotates, which never changes; `false` if the task is not stored. */
  rotates(taskId: TaskId): Promise<boolean>;

  /** The task and those above it, through which its authority came, the nearest first; empty if the task is not stored. */
  chain(taskId: TaskId): Promise<readonly ChainedTask[]>;

  /** The task's person, who never changes; `undefined` if the task is not stored. */
  findSponsor(taskId: TaskId): Promise<SponsorKey | undefined>;

  /** The stored facts for an introspection; `undefined` if the task is not stored. */
  tokenFacts(tokenId: TokenId, taskId: TaskId): Promise<StoredTokenFacts | undefined>;

  /**
   * Up to `limit` tasks of the person as of one instant: live ones first, newest first; then ended ones, the latest end
   * first. A task that ends between two pages may be on both, and is never skipped.
   */
  ofSponsor(sponsorKey: SponsorKey, question: OwnTasksQuestion): Promise<readonly OwnTask[]>;

  /** The agents that have live tasks for the person, as of one instant. The agent of the newest task comes first. */
  agentsOfSponsor(sponsorKey: SponsorKey, now: Instant): Promise<readonly OwnAgent[]>;

  /** Up to `limit` live tasks of the person, newest first. */
  liveOfSponsor(sponsorKey: SponsorKey, question: OwnLiveTasksQuestion): Promise<readonly OwnTask[]>;

  /** Up to `limit` ended tasks of the person, the latest end first. */
  endedOfSponsor(sponsorKey: SponsorKey, question: OwnTasksQuestion): Promise<readonly OwnTask[]>;

  /** Those of the given tasks that are stored and the person's, in any state and order. */
  ofSponsorById(sponsorKey: SponsorKey, question: OwnTasksById): Promise<readonly OwnTask[]>;

  /** Tasks of all people, those with the greatest id first, which are the newest. */
  list(question: TasksQuestion): Promise<TasksPage>;

  findListed(taskId: TaskId, now: Instant): Promise<ShownTask | undefined>;

  /**
   * Up to `limit` tasks of the whole tree that has the task, also ended ones: the task without a parent first, then level by
   * level. Empty if the task is not stored.
   */
  tree(question: TaskTreeQuestion): Promise<readonly TreeTask[]>;

  /**
   * The people with live tasks, in the order of their keys. The query looks at `most` people who have any stored task. A
   * task whose time is up counts until its expiry is recorded.
   */
  livePeople(most: number): Promise<readonly SponsorKey[]>;

  /** Counts live tasks, `most` at most: all of them, those of a person or of an agent, or those that one end reaches. */
  countLive(question: LiveTasksQuestion): Promise<LiveTaskCount>;
}

/** A task of a chain. */
export interface ChainedTask {
  readonly task: Task;
  readonly state: TaskState;
  /** Its present scope: that of the last refresh. */
  readonly scope: Scope;
  readonly grantHash: GrantHash;
  /** Whether its agent is registered and enabled. */
  readonly agentEnabled: boolean;
}

/** A task as its person sees it. */
export interface OwnTask
  extends Pick<Task, 'taskId' | 'agentId' | 'audience' | 'scope' | 'expiresAt' | 'authorization'> {
  /** `undefined` if the agent has been removed. */
  readonly displayName: string | undefined;
  readonly startedAt: Instant;
  /** A task whose time is up is `expired`, even if its expiry is not recorded yet. */
  readonly state: TaskState['kind'];
  /** `undefined` while the task is live. */
  readonly endedAt: Instant | undefined;
  /** Why the task ended; `undefined` while it is live. */
  readonly reason: EndReason | undefined;
  /** Successful refreshes so far. */
  readonly renewals: number;
  /** The last refresh; `undefined` before the first. */
  readonly renewedAt: Instant | undefined;
  /** What the agent stated; `undefined` if it stated nothing, or if the ledger has something else. */
  readonly purpose: string | undefined;
  /** How the stored purpose differs from its record. */
  readonly purposeDiffers: Difference | undefined;
  /** `undefined` for a task that no other agent handed over. */
  readonly parentTaskId: TaskId | undefined;
  /** How many live tasks are directly below it. */
  readonly liveBelow: number;
}

/** A task in the order of the list. */
export interface OwnTaskPosition {
  readonly taskId: TaskId;
  /** `undefined` for a task that was listed as live. */
  readonly endedAt: Instant | undefined;
}

export interface OwnTasksById {
  readonly taskIds: readonly TaskId[];
  /** Decides whether the time of a task is up. */
  readonly now: Instant;
}

export interface OwnTasksQuestion {
  /** The last task of the previous page. */
  readonly after: OwnTaskPosition | undefined;
  readonly limit: number;
  /** Decides whether the time of a task is up. */
  readonly now: Instant;
}

/** What an agent does for a person: its live tasks. */
export interface OwnAgent {
  readonly agentId: AgentId;
  /** `undefined` if the agent has been removed. */
  readonly displayName: string | undefined;
  /** How many live tasks it has; at least 1. */
  readonly tasks: number;
  readonly newestTask: TaskId;
  /** The last start or renewal of one of these tasks. */
  readonly activeAt: Instant;
}

export interface OwnLiveTasksQuestion {
  /** Selects only the tasks of this agent; `undefined` selects those of every agent. */
  readonly agentId?: AgentId | undefined;
  /** The last task of the previous page. */
  readonly after: TaskId | undefined;
  readonly limit: number;
  /** A task whose time is up is not live. */
  readonly now: Instant;
}

/** A task must match all filters that are set. */
export interface TaskFilters {
  readonly agentId?: AgentId | undefined;
  readonly sponsorKey?: SponsorKey | undefined;
  readonly audience?: string | undefined;
  readonly state: TaskState['kind'];
}

export interface TasksQuestion extends TaskFilters {
  /** The last task of the previous page. */
  readonly after: TaskId | undefined;
  readonly limit: number;
  /** How many tasks may be read for the page, if several names filter them. */
  readonly mostRead: number;
  /** A task whose time is up is `expired`, even if its expiry is not recorded yet. */
  readonly now: Instant;
}

export interface TasksPage {
  readonly tasks: readonly ListedTask[];
  /** The last task read, if `mostRead` ended the page. */
  readonly readUpTo: TaskId | undefined;
}

export interface LiveTasksQuestion {
  readonly of:
    | { readonly agentId: AgentId }
    | { readonly sponsorKey: SponsorKey }
    /** A task, or the tasks of an agent, with those that were delegated from them: whosever they are. */
    | { readonly endOf: { readonly taskId: TaskId } | { readonly agentId: AgentId } }
    | undefined;
  /** A task whose time is up is not live. */
  readonly now: Instant;
  readonly most: number;
}

export interface LiveTaskCount {
  readonly tasks: number;
  /** When the last of them expires; `undefined` without tasks. */
  readonly lastExpiry: Instant | undefined;
  /** The longest life of a token among their agents, in seconds; `undefined` without tasks. */
  readonly longestTokenTtl: number | undefined;
}

/** A task as operators see it. */
export interface ListedTask extends Task {
  readonly state: TaskState;
  /** `undefined` if the agent has been removed. */
  readonly displayName: string | undefined;
  /** Successful refreshes so far. */
  readonly renewals: number;
}

/** A task of a tree: those that one agent handed to another, from the task that a person's token or answer started. */
export interface TreeTask extends Pick<Task, 'taskId' | 'agentId' | 'audience' | 'delegationDepth' | 'expiresAt'> {
  /** `undefined` for the first task of the tree. */
  readonly parentTaskId: TaskId | undefined;
  /** `undefined` if the agent has been removed. */
  readonly displayName: string | undefined;
  readonly state: TaskState;
}

export type TreePosition = Pick<TreeTask, 'delegationDepth' | 'taskId'>;

export interface TaskTreeQuestion {
  /** Any task of the tree. */
  readonly taskId: TaskId;
  /** The last task of the previous page. */
  readonly after: TreePosition | undefined;
  readonly limit: number;
  /** A task whose time is up is `expired`, even if its expiry is not recorded yet. */
  readonly now: Instant;
}

/** A single task as operators see it. */
export interface ShownTask extends ListedTask {
  /**
   * The maximum authority of the next token: the scope of the last refresh, which may be narrower than the exchange's.
   */
  readonly grantScope: Scope;
  /** The last refresh; `undefined` before the first. */
  readonly renewedAt: Instant | undefined;
  /** What the agent stated; `undefined` if it stated nothing, or if the ledger has something else. */
  readonly purpose: StatedPurpose | undefined;
  /** What of the row differs from its records, and is therefore left out: the purpose, the origin of the scope. */
  readonly differences: readonly Difference[];
}
