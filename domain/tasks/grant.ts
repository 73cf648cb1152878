/**
 * Task grants: the refresh tokens of a task (specification "Refresh"; supplement "Names and identifiers").
 *
 * A client that cannot prove its name has a rotating grant (RFC 9700 §4.14.2): each refresh answers with a new one. It is
 * `task_grant_<family>.<rotation>`. The family never changes and names the stored grant. Two rotations are accepted:
 *
 * - the current one. It becomes the previous one, and a new one becomes current.
 * - the previous one, while the current one is unused: the answer may have been lost. A new one becomes current.
 *
 * Any older one was stolen, or replaced a stolen one: the task ends.
 */

import type { DenialReason } from '../denial.ts';
import type { Instant } from '../instant.ts';
import { isEnding, stateAt } from './lifetime.ts';
import type { Grant, GrantHash, GrantRotation } from './task.ts';

const PREFIX = 'task_grant_';
/** 256 bits: unguessable. */
export const GRANT_SECRET_BYTES = 32;

export function makeGrant(secret: string): string {
  return `${PREFIX}${secret}`;
}

const BETWEEN = '.';
/** GRANT_SECRET_BYTES in base64url. */
const ROTATION = /^[A-Za-z0-9_-]{43}$/;

/** @param family and @param rotation of GRANT_SECRET_BYTES each, in base64url, which has no dot */
export function makeRotatingGrant(family: string, rotation: string): string {
  return `${PREFIX}${family}${BETWEEN}${rotation}`;
}

/** A presented grant. */
export interface PresentedGrant {
  /** The text whose SHA-256 names the stored grant. */
  readonly named: string;
  /** The whole grant; `undefined` if its form is not that of a rotating one. */
  readonly rotating: string | undefined;
}

/** A text that only begins like a rotating grant names no stored one. No client was given it, so it shows no theft. */
export function readGrant(token: string): PresentedGrant {
  const end = token.indexOf(BETWEEN);
  return end >= 0 && ROTATION.test(token.slice(end + 1))
    ? { named: token.slice(0, end), rotating: token }
    : { named: token, rotating: undefined };
}

/** The grant of the same family that a refresh answers with. @param rotation of GRANT_SECRET_BYTES, in base64url */
export function rotatedGrant({ named }: PresentedGrant, rotation: string): string {
  return `${named}${BETWEEN}${rotation}`;
}

/** The rotation after a refresh; `superseded` if an older grant was presented. */
export type RotationVerdict =
  | { readonly kind: 'rotated'; readonly rotation: GrantRotation }
  | { readonly kind: 'superseded' };

/** @param presented SHA-256 of the whole grant that the client presented, and @param next of the one that it gets */
export function rotate(rotation: GrantRotation, presented: GrantHash, next: GrantHash): RotationVerdict {
  if (isSuperseded(rotation, presented)) return { kind: 'superseded' };
  return { kind: 'rotated', rotation: { current: next, previous: presented } };
}

/** Never changes back: a rotation that was replaced is not accepted again. @param presented SHA-256 of the whole grant */
export function isSuperseded({ current, previous }: GrantRotation, presented: GrantHash): boolean {
  return presented !== current && presented !== previous;
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
