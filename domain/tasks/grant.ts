/** Task grants: the refresh tokens of a task (specification "Refresh"; supplement "Names and identifiers"). */

import type { DenialReason } from '../denial.ts';
import type { Instant } from '../instant.ts';
import { isEnding, stateAt } from './lifetime.ts';
import type { Grant } from './task.ts';

const PREFIX = 'task_grant_';
/** 256 bits: unguessable. */
export const GRANT_SECRET_BYTES = 32;

export function makeGrant(secret: string): string {
  return `${PREFIX}${secret}`;
}

/** Whether a presented token has the prefix of a grant. Otherwise it is treated as a task token. */
export function looksLikeGrant(token: string): boolean {
  return token.startsWith(PREFIX);
}

type GrantReason = Extract<DenialReason, 'grant_revoked' | 'task_revoked' | 'task_expired' | 'task_ending'>;

/**
 * Checks 2 to 4 of a refresh, in the specification's order. The end of a task revokes its grants too. The task's
 * reason comes first, so that the client knows that the task is over. `grant_revoked` means: the task is still live.
 */
export function judgeGrant(grant: Grant, now: Instant): GrantReason | undefined {
  const state = stateAt(grant.taskState, grant.task, now);
  if (state.kind === 'revoked') return 'task_revoked';
  if (state.kind === 'expired') return 'task_expired';
  if (isEnding(grant.task, now)) return 'task_ending';
  if (grant.revokedAt !== undefined) return 'grant_revoked';
  return undefined;
}
