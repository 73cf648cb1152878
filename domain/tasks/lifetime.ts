/** How long tasks and their tokens live, and why a task ended. */

import { earlierOf } from '../clocks.ts';
import { durationInWords } from '../duration.ts';
import { type Instant, plusSeconds, secondsBetween } from '../instant.ts';
import { CLOCK_SKEW_SECONDS, MAX_CLOCK_SKEW_SECONDS } from '../tokens/compact-jws.ts';
import type { RevocationReason, Task, TaskState } from './task.ts';

/** No token is issued if its task ends in fewer seconds (specification "Refresh", check 4). */
const TASK_ENDING_SECONDS = 5;

export function isTimeUp({ expiresAt }: Pick<Task, 'expiresAt'>, now: Instant): boolean {
  return expiresAt <= now;
}

/** A task whose time is up is expired, even if its expiry is not recorded yet. */
export function stateAt(state: TaskState, task: Pick<Task, 'expiresAt'>, now: Instant): TaskState {
  return state.kind === 'live' && isTimeUp(task, now) ? { kind: 'expired', at: task.expiresAt } : state;
}

/** Whether the task ends too soon for another token (specification "Refresh", check 4). */
export function isEnding({ expiresAt }: Pick<Task, 'expiresAt'>, now: Instant): boolean {
  return secondsBetween(now, expiresAt) < TASK_ENDING_SECONDS;
}

/** The reason of a task that ended because its time was up. */
export const TIME_UP = 'task_ttl_elapsed';

/** Why a task ended. */
export type EndReason = RevocationReason | typeof TIME_UP;

/** `undefined` while the task is live. */
export function endReasonOf(state: TaskState): EndReason | undefined {
  if (state.kind === 'live') return undefined;
  return state.kind === 'revoked' ? state.reason : TIME_UP;
}

/**
 * A token never outlives the time of its task (specification, rule 8). If the task ends before, the token still works until
 * then at a tool server that does not ask the service.
 *
 * @param ttl seconds
 */
export function tokenEnd(issuedAt: Instant, ttl: number, { expiresAt }: Pick<Task, 'expiresAt'>): Instant {
  return earlierOf(plusSeconds(issuedAt, ttl), expiresAt);
}

interface EndingTasks {
  /** When the last of the tasks expires. */
  readonly lastExpiry: Instant | undefined;
  /** The longest life of their tokens, in seconds. */
  readonly longestTokenTtl: number | undefined;
}

/**
 * Until when a tool server that does not ask the service accepts a token that ends then: it allows for clocks that differ. A
 * tool server may be set to allow up to MAX_CLOCK_SKEW_SECONDS.
 */
export function acceptedUntil(end: Instant): Instant {
  return plusSeconds(end, CLOCK_SKEW_SECONDS);
}

/** Follows a time that `acceptedUntil` makes, for operators. */
export const CLOCKS_DIFFER = `This includes ${durationInWords(CLOCK_SKEW_SECONDS)} for clocks that differ. A tool server may be set to allow ${durationInWords(MAX_CLOCK_SKEW_SECONDS)} instead.`;

/** How long from its issue a tool server accepts a token at most (`acceptedUntil`). In seconds, like the token's life. */
export function acceptedFor(tokenTtl: number): number {
  return tokenTtl + CLOCK_SKEW_SECONDS;
}

/** No token of these tasks that was issued until now is accepted later (`acceptedUntil`). `undefined` without tasks. */
export function worksUntil({ lastExpiry, longestTokenTtl }: EndingTasks, now: Instant): Instant | undefined {
  if (lastExpiry === undefined) return undefined;
  const end = longestTokenTtl === undefined ? lastExpiry : tokenEnd(now, longestTokenTtl, { expiresAt: lastExpiry });
  return acceptedUntil(end);
}
