/** What the pages of a person show. */

import type { MyAgents, MyAgentTasks } from '../../../application/me/my-agents.ts';
import type { MyTasksPage } from '../../../application/me/my-tasks.ts';
import type { TaskApproval } from '../../../application/ports/approvals.ts';
import type { TaskId } from '../../../domain/identifiers.ts';
import type { Instant } from '../../../domain/instant.ts';
import type { Flash } from '../browser/flash.ts';

/** What every page of a signed-in person shows. */
export interface PersonView {
  /** The path of the issuer, before `/me`. */
  readonly base: string;
  /** The sponsor key: operators find the person by it, and `sub` may be a random text. */
  readonly person: string;
  readonly now: Instant;
  readonly formToken: string;
  /** Seconds that the session lasts without use. */
  readonly sessionTtl: number;
  readonly notice: Notice | undefined;
  readonly scopeWords: ScopeWords;
  /** Whether tool servers may ask for approvals: the page then renews itself more often. */
  readonly hearsApprovals: boolean;
}

export interface MeView extends PersonView {
  /** The approvals that wait, oldest first. Empty without approvals, and on a later page of agents. */
  readonly waiting: readonly TaskApproval[];
  /** How many more wait that cannot be shown: their rows are not as the ledger has them. */
  readonly altered: number;
  /** Whether the person signed in lately enough to approve. */
  readonly mayApprove: boolean;
  readonly agents: MyAgents;
  /** Whether this is the first page of agents. */
  readonly isFirst: boolean;
  /** The latest ended tasks. `undefined` on a later page of agents. */
  readonly ended: MyTasksPage | undefined;
  /** When the person paused agents. */
  readonly pausedAt: Instant | undefined;
  /** Whether another source than the person blocks agents. */
  readonly blockedByOthers: boolean;
  readonly canPause: boolean;
  /** Whether the person could lift a pause. If not, the person cannot place one either, and the page says why. */
  readonly isPauseLiftable: boolean;
  /** Whether the person signed in lately enough to lift the pause. */
  readonly mayResume: boolean;
  /** Whether the provider can end its own session too. */
  readonly signsOutEverywhere: boolean;
  readonly reach: Reach;
}

/** The live tasks of one agent. */
export interface AgentView extends PersonView {
  readonly position: AgentPosition;
  readonly shown: MyAgentTasks;
}

/** A page of the tasks of one agent, as an address names it. */
export interface AgentPosition {
  /** A task of the agent. */
  readonly of: TaskId;
  /** The last task of the previous page. */
  readonly after: TaskId | undefined;
}

/** An approval in any state. */
export interface ApprovalView extends PersonView {
  readonly approval: TaskApproval;
  readonly mayApprove: boolean;
}

export interface EndedView extends PersonView {
  readonly ended: MyTasksPage;
}

/** What the person has just done. */
export const noticeKinds = ['stopped', 'paused', 'resumed', 'approved', 'declined'] as const;
export type Notice = Flash<(typeof noticeKinds)[number]>;

/** How soon a stop takes effect where tool servers do not ask the service. */
export interface Reach {
  /** Seconds: the longest life of a token. */
  readonly tokenTtl: number;
  /** Seconds until a tool server with its default settings refuses the task. `undefined` without status lists. */
  readonly statusLists: number | undefined;
}

export const languages = ['en', 'de'] as const;
export type Language = (typeof languages)[number];

/** The operator's sentence for a scope: one for all languages, or one for each. */
export type ScopeWords = ReadonlyMap<string, string | Readonly<Partial<Record<Language, string>>>>;
