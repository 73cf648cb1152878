/** What all pages of a person show. */

import type { MyAgent } from '../../../application/me/my-agents.ts';
import type { TaskApproval } from '../../../application/ports/approvals.ts';
import type { Instant } from '../../../domain/instant.ts';
import type { Flash } from '../browser/flash.ts';
import type { ScopeWords } from '../browser/scope-words.ts';
import type { MyApprovals } from './surface.ts';

/** What every page of a signed-in person shows. */
export interface PersonView {
  /** The path of the issuer, before `/me`. */
  readonly base: string;
  /** The name of the ID token, only to be shown; without one, the sponsor key. */
  readonly person: string;
  /** Operators find the person by it. */
  readonly sponsorKey: string;
  readonly now: Instant;
  readonly formToken: string;
  /** Seconds that the session lasts without use. */
  readonly sessionTtl: number;
  readonly notice: Notice | undefined;
  /** Seconds that a yes may be used, and that a no counts. `undefined` without approvals. */
  readonly holds: MyApprovals['holds'] | undefined;
  readonly scopeWords: ScopeWords;
  /** Whether tool servers may ask for approvals: the page then renews itself more often. */
  readonly hearsApprovals: boolean;
  /** Whether agents may hand work to other agents: the pages then show which task came from which. */
  readonly handsOver: boolean;
}

/** What the person has just done. `signed_in`: for a yes. */
export const noticeKinds = [
  ...(['stopped', 'paused', 'resumed', 'approved', 'declined', 'signed_in'] as const),
  ...(['delegation_refused', 'delegation_allowed'] as const),
] as const;
export type NoticeFlash = Flash<(typeof noticeKinds)[number]>;

/** The same, with what it is about. */
export interface Notice extends Pick<NoticeFlash, 'kind' | 'amount'> {
  /** The agent whose tasks were stopped, or whose handing-over was refused or allowed. `undefined` for all agents, or if no task names it. */
  readonly agent?: Pick<MyAgent, 'agentId' | 'displayName'> | undefined;
  /** The approval that was answered. `undefined` if its words cannot be shown. */
  readonly approval?: TaskApproval | undefined;
}

/** How soon a stop takes effect where tool servers do not ask the service. */
export interface Reach {
  /** Seconds for which tool servers with their default settings may accept a token of a task that has ended. */
  readonly acceptedFor: number;
  /** Seconds until a tool server with its default settings refuses the task. `undefined` without status lists. */
  readonly statusLists: number | undefined;
}
