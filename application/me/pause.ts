/** A person's own pause: no agent may act for them until they lift it themselves. */

import type { Instant } from '../../domain/instant.ts';
import type { LiftVerdict } from '../decisions/lift-block.ts';

export interface MyPause {
  /** When the person paused all agents; `undefined` if they have not. */
  readonly since: Instant | undefined;
  /** Whether another source blocks the person, whose block only that source lifts. */
  readonly blockedByOthers: boolean;
}

/** `sign_in_too_old`: the person must first sign in again. */
export type ResumeVerdict = LiftVerdict | 'sign_in_too_old';

/** How long after signing in a person may lift their pause (RFC 9470 `max_age`). */
export const RESUME_MAX_AGE_SECONDS = 300;
