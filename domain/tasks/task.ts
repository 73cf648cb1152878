/** A task: one agent acting for one human, at one audience, for a bounded time (specification "Task (stored)"). */

import type { AgentId, SponsorKey, TaskId } from '../identifiers.ts';
import type { Instant } from '../instant.ts';
import type { Scope } from '../scope.ts';

export interface Task {
  readonly taskId: TaskId;
  readonly agentId: AgentId;
  /** What blocks and provisioning call the person. */
  readonly sponsorKey: SponsorKey;
  /** What tokens and records call the person: the subject token's `sub`. */
  readonly sponsor: string;
  /** The identity provider's session it was started in (`sid`), when the subject token named one. */
  readonly sessionId: string | undefined;
  readonly parentTaskId: TaskId | undefined;
  readonly audience: string;
  /** As granted by the exchange. */
  readonly scope: Scope;
  readonly delegationDepth: number;
  readonly createdAt: Instant;
  readonly expiresAt: Instant;
}

/** What ended a task before its time (decisions "Reasons": what ended a task). */
const revocationReasons = [
  'operator_kill_switch',
  'parent_revoked',
  'client_revoked',
  'sponsor_blocked',
  'sponsor_logged_out',
  'scim_deactivated',
  'scim_deleted',
  'ssf_sessions_revoked',
  'ssf_account_disabled',
  'ssf_account_purged',
] as const;
export type RevocationReason = (typeof revocationReasons)[number];

export interface Revocation {
  readonly at: Instant;
  readonly reason: RevocationReason;
}

/** A task is live until it is revoked or its end is recorded; revocation and expiry are both for good. */
export type TaskState =
  | { readonly kind: 'live' }
  | ({ readonly kind: 'revoked' } & Revocation)
  | { readonly kind: 'expired'; readonly at: Instant };

/** A task grant (the refresh token), of which only the SHA-256 is stored. */
export interface Grant {
  readonly task: Task;
  readonly taskState: TaskState;
  readonly revokedAt: Instant | undefined;
  /** The scope of its last successful refresh, the exchange's before the first: a narrowing sticks. */
  readonly scope: Scope;
  /** Successful refreshes so far. */
  readonly renewals: number;
}

/** A token with less of its task left than this is not issued (specification "Refresh", check 4). */
export const TASK_ENDING_SECONDS = 5;
