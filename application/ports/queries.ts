/** Queries of the stored agents, tasks, blocks and users. All methods may throw StorageUnavailable. */

import type { Agent } from '../../domain/agents/agent.ts';
import type { AgentId, SponsorKey, TaskId, TokenId, UserId } from '../../domain/identifiers.ts';
import type { Instant } from '../../domain/instant.ts';
import type { StoredAct } from '../../domain/operators/operator-act.ts';
import type { Scope } from '../../domain/scope.ts';
import type { Session, SessionHash, SessionKind } from '../../domain/sessions/session.ts';
import type { ProvisionedUser } from '../../domain/signals/provisioned-user.ts';
import type { PersonAttribute } from '../../domain/signals/user-attribute.ts';
import type { BlockSource, SponsorBlock } from '../../domain/sponsors/block.ts';
import type { EndReason } from '../../domain/tasks/lifetime.ts';
import type { ListedTasks } from '../../domain/tasks/status-list.ts';
import type { Grant, GrantHash, Task, TaskState } from '../../domain/tasks/task.ts';
import type { TokenFacts } from '../../domain/tasks/task-token.ts';

/** The registered agents. */
export interface Agents {
  find(agentId: AgentId): Promise<Agent | undefined>;

  /** Agents after `after` in `agent_id` order (by code point); all of them without a `limit`. */
  list(page: { readonly after?: AgentId | undefined; readonly limit?: number | undefined }): Promise<readonly Agent[]>;
}

/** Tasks, their grants and tokens. */
export interface Tasks {
  /** The grant, if it was issued to this agent; `undefined` for another agent's. */
  findGrant(agentId: AgentId, grantHash: GrantHash): Promise<Grant | undefined>;

  /** The task's person, who never changes; `undefined` if the task is not stored. */
  findSponsor(taskId: TaskId): Promise<SponsorKey | undefined>;

  /** The stored facts for an introspection; `undefined` if the task is not stored. */
  tokenFacts(tokenId: TokenId, taskId: TaskId): Promise<TokenFacts | undefined>;

  /**
   * Up to `limit` tasks of the person as of one instant: live ones first, newest first; then ended ones, the latest end
   * first. A task that ends between two pages may be on both, and is never skipped.
   */
  ofSponsor(sponsorKey: SponsorKey, question: OwnTasksQuestion): Promise<readonly OwnTask[]>;

  /** Tasks of all people, those with the greatest id first, which are the newest. */
  list(question: TasksQuestion): Promise<TasksPage>;

  findListed(taskId: TaskId, now: Instant): Promise<ShownTask | undefined>;

  /** Counts live tasks, `most` at most: all of them, or those of an agent or a person. */
  countLive(question: LiveTasksQuestion): Promise<LiveTaskCount>;
}

/** A task as its person sees it. */
export interface OwnTask {
  readonly taskId: TaskId;
  readonly agentId: AgentId;
  /** `undefined` if the agent has been removed. */
  readonly displayName: string | undefined;
  readonly audience: string;
  /** As granted by the exchange. */
  readonly scope: Scope;
  readonly startedAt: Instant;
  readonly expiresAt: Instant;
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
}

/** A task in the order of the list. */
export interface OwnTaskPosition {
  readonly taskId: TaskId;
  /** `undefined` for a task that was listed as live. */
  readonly endedAt: Instant | undefined;
}

export interface OwnTasksQuestion {
  /** The last task of the previous page. */
  readonly after: OwnTaskPosition | undefined;
  readonly limit: number;
  /** Decides whether the time of a task is up. */
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
  readonly of: { readonly agentId: AgentId } | { readonly sponsorKey: SponsorKey } | undefined;
  /** A task whose time is up is not live. */
  readonly now: Instant;
  readonly most: number;
}

export interface LiveTaskCount {
  readonly tasks: number;
  /** When the last of them ends by itself; `undefined` without tasks. */
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

/** A single task as operators see it. */
export interface ShownTask extends ListedTask {
  /** What the next token may have at most: the scope of the last refresh, which may be narrower than the exchange's. */
  readonly grantScope: Scope;
  /** The last refresh; `undefined` before the first. */
  readonly renewedAt: Instant | undefined;
}

/** The status lists, and what the tables say about their tasks. */
export interface StatusLists {
  /** The list as of one instant; `undefined` if it is not stored. */
  find(listId: string): Promise<StoredStatusList | undefined>;

  /** The ids of all stored lists, oldest first. */
  list(): Promise<readonly string[]>;

  /** Every stored list, oldest first. Reads each index that a task holds. */
  usage(): Promise<readonly StatusListUsage[]>;
}

export interface StatusListUsage {
  readonly listId: string;
  readonly audience: string;
  /** The number of indices. */
  readonly entries: number;
  /** The number of indices that tasks hold. */
  readonly held: number;
  readonly createdAt: Instant;
}

export interface StoredStatusList extends ListedTasks {
  /** The number of indices. */
  readonly entries: number;
}

/** The sessions of the pages that people sign in to. */
export interface Sessions {
  /** The session of this kind, until it closes or the sweeper deletes it. It may have expired. */
  find(kind: SessionKind, sessionHash: SessionHash): Promise<Session | undefined>;
}

/** The people, with their blocks. */
export interface Sponsors {
  /** The person's blocks, at most one per source, oldest first. Empty if the person is not blocked. */
  findBlocks(sponsorKey: SponsorKey): Promise<readonly SponsorBlock[]>;

  /** Blocks of all people, the newest first; those of one time in descending order of person and source. */
  list(question: BlocksQuestion): Promise<readonly SponsorBlock[]>;

  /** How many people are blocked, and by how many blocks of each source. Counts `most` blocks at most. */
  countBlocks(most: number): Promise<BlockCount>;

  /** The time at which a first operator's request to lift the person's block expires. `undefined` without one at `now`. */
  liftPendingUntil(sponsorKey: SponsorKey, now: Instant): Promise<Instant | undefined>;
}

export interface BlockCount {
  readonly people: number;
  readonly bySource: Readonly<Partial<Record<BlockSource, number>>>;
}

export interface BlocksQuestion {
  readonly source?: BlockSource | undefined;
  /** The last block of the previous page. */
  readonly after: BlockPosition | undefined;
  readonly limit: number;
}

export type BlockPosition = Pick<SponsorBlock, 'sponsorKey' | 'source' | 'blockedAt'>;

export interface ActsQuestion {
  /** Acts whose own record has this number, or whose records span it. */
  readonly seq?: number | undefined;
  /** The `sub` of the operator. */
  readonly subject?: string | undefined;
  /** Only acts whose record has a lower number. */
  readonly before?: number | undefined;
  readonly limit: number;
}

/** The acts of operators. */
export interface OperatorActs {
  /** Newest first. */
  list(question: ActsQuestion): Promise<readonly StoredAct[]>;
}

export interface UsersQuestion {
  /** `userName` is compared without regard to case, `externalId` exactly. */
  readonly match?: { readonly attribute: PersonAttribute; readonly value: string } | undefined;
  /** The number of matches to skip. */
  readonly skip: number;
  readonly limit: number;
}

export interface UsersPage {
  readonly users: readonly ProvisionedUser[];
  /** The number of matches on all pages. */
  readonly total: number;
}

/** The provisioned users. */
export interface ProvisionedUsers {
  find(userId: UserId): Promise<ProvisionedUser | undefined>;

  /** In the order of ids, which is the order of creation. */
  list(question: UsersQuestion): Promise<UsersPage>;

  /** All users of the person, in the order of ids. */
  ofPerson(sponsorKey: SponsorKey): Promise<readonly ProvisionedUser[]>;
}
