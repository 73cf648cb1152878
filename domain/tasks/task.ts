/**
 * A task: one agent acting for one person, at one audience, for a bounded time (specification "Task (stored)").
 * policy.ts says how much authority it gets, lifetime.ts when it ends, grant.ts how it is renewed. Its tokens have the
 * claims of task-token.ts, with the acting agents in actor-chain.ts. status-list.ts is the published list of the
 * status of many tasks.
 */

import type { AgentId, SponsorKey, TaskId } from '../identifiers.ts';
import type { Instant } from '../instant.ts';
import type { Scope } from '../scope.ts';
import type { StatusReference } from './status-list.ts';
import type { TaskAuthorization } from './task-authorization.ts';

export interface Task {
  readonly taskId: TaskId;
  readonly agentId: AgentId;
  /** Identifies the person for blocks and provisioning. */
  readonly sponsorKey: SponsorKey;
  /** Identifies the person in tokens and records: the subject token's `sub`. */
  readonly sponsor: string;
  /** The identity provider's session (`sid`) in which the task began, if the subject token named one. */
  readonly sessionId: string | undefined;
  /** The agents that delegated it, the nearest first. Empty for a task that a person's token or answer started. */
  readonly delegatedBy: readonly Delegator[];
  readonly audience: string;
  /** As granted by the exchange. */
  readonly scope: Scope;
  /** Stored only for the console, which shows it. Absent without one. */
  readonly origin?: ScopeOrigin;
  readonly delegationDepth: number;
  readonly createdAt: Instant;
  readonly expiresAt: Instant;
  /** How the person started it at `/oauth2/authorize`. Absent for a task of an exchange. Read by the queries that say so. */
  readonly authorization?: TaskAuthorization;
  /** Where status lists show the task's status. Set when the task opens, if there are status lists. */
  readonly status: StatusReference | undefined;
}

/** An agent that delegated to the next one, and the task in which it did. */
export interface Delegator {
  readonly taskId: TaskId;
  readonly agentId: AgentId;
  /** `act.instance`, as it was when the agent delegated. */
  readonly instance: string | undefined;
}

/** The task from which this one was delegated; `undefined` for a task that a person's token or answer started. */
export function parentOf({ delegatedBy }: Pick<Task, 'delegatedBy'>): TaskId | undefined {
  return delegatedBy[0]?.taskId;
}

/**
 * Whether these are the tasks that delegated it, the nearest first. A chain that lacks one, or has another, shows that stored rows
 * were changed by hand.
 */
export function isDelegatedThrough(
  { delegatedBy }: Pick<Task, 'delegatedBy'>,
  above: readonly { readonly task: Pick<Task, 'taskId'> }[],
): boolean {
  return (
    above.length === delegatedBy.length && above.every(({ task }, nth) => task.taskId === delegatedBy[nth]?.taskId)
  );
}

/** The scopes from which the exchange chose the granted one, with those of the agent's registration. */
interface ScopeOrigin {
  /** The scopes of the person's token. */
  readonly held: Scope;
  /** The scopes that the agent requested. */
  readonly asked: Scope;
}

/** Why a task was revoked (supplement "Reasons": what ended a task). */
const revocationReasons = [
  'operator_kill_switch',
  'parent_revoked',
  'client_revoked',
  'sponsor_blocked',
  'sponsor_logged_out',
  'sponsor_stopped',
  'sponsor_paused',
  'scim_deactivated',
  'scim_deleted',
  'ssf_sessions_revoked',
  'ssf_account_disabled',
  'ssf_account_purged',
  'code_replayed',
  'grant_superseded',
] as const;
export type RevocationReason = (typeof revocationReasons)[number];

export interface Revocation {
  readonly at: Instant;
  readonly reason: RevocationReason;
}

export const taskStates = ['live', 'revoked', 'expired'] as const satisfies readonly TaskState['kind'][];

/** A task is live until it is revoked or its expiry is recorded. Both are final. */
export type TaskState =
  | { readonly kind: 'live' }
  | ({ readonly kind: 'revoked' } & Revocation)
  | { readonly kind: 'expired'; readonly at: Instant };

/** SHA-256 of a task grant, in lowercase hex. The grant itself is never stored. */
export type GrantHash = string;

/** The refresh tokens of a rotating grant that are accepted (grant.ts). */
export interface GrantRotation {
  /** SHA-256 of the newest grant. */
  readonly current: GrantHash;
  /** SHA-256 of the grant that was presented for it; `undefined` before the first refresh. */
  readonly previous: GrantHash | undefined;
}

/** A task grant (the refresh token). Only its SHA-256 is stored. */
export interface Grant {
  readonly task: Task;
  readonly taskState: TaskState;
  readonly revokedAt: Instant | undefined;
  /** The scope of the last successful refresh, or of the exchange before the first one: it can only narrow. */
  readonly scope: Scope;
  /** Successful refreshes so far. */
  readonly renewals: number;
  /** Absent if the grant does not rotate. */
  readonly rotation?: GrantRotation;
}
