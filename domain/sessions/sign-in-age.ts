/**
 * How old a person's sign-in is (`auth_time`). The identity provider dates it, so its clock may be ahead of ours. A provider
 * that does not know when a person signed in may send nothing, 0, or an invented time.
 */

import { type Instant, plusSeconds, toSeconds } from '../instant.ts';
import type { MePerson } from '../sponsors/me-person.ts';
import { CLOCK_SKEW_SECONDS } from '../tokens/compact-jws.ts';

/** How long after signing in a person may lift their pause (RFC 9470 `max_age`). */
export const RESUME_MAX_AGE_SECONDS = 300;

/** No sign-in lasts a year. */
export const LONGEST_SIGN_IN_SECONDS = 365 * 24 * 60 * 60;

/** The time of a sign-in as a session keeps it. A time a little ahead is now; one further ahead says nothing about the person. */
export function usableSignInTime(stated: Instant | undefined, now: Instant): Instant | undefined {
  if (stated === undefined || isAhead(stated, now)) return undefined;
  return stated > now ? now : stated;
}

/** Whether the provider says when its people sign in. Lifting a pause needs that (`isSignInRecent`). */
export function isSignInDated({ authenticatedAt }: Pick<MePerson, 'authenticatedAt'>, now: Instant): boolean {
  return (
    authenticatedAt !== undefined &&
    authenticatedAt > plusSeconds(now, -LONGEST_SIGN_IN_SECONDS) &&
    !isAhead(authenticatedAt, now)
  );
}

/**
 * Whether the person signed in at most `maxAge` seconds ago. The clock of a token's provider may be behind. A session gets
 * no more time for that: its person can sign in again at the page.
 *
 * @param latest the later of two clocks: an instance behind must not take an old sign-in for a recent one
 */
export function isSignInRecent(
  { authenticatedAt, by }: Pick<MePerson, 'authenticatedAt' | 'by'>,
  maxAge: number,
  { now, latest }: { readonly now: Instant; readonly latest: Instant },
): boolean {
  if (authenticatedAt === undefined || isAhead(authenticatedAt, now)) return false;
  const skew = by === 'token' ? CLOCK_SKEW_SECONDS : 0;
  return toSeconds(latest) - toSeconds(authenticatedAt) <= maxAge + skew;
}

function isAhead(stated: Instant, now: Instant): boolean {
  return stated > plusSeconds(now, CLOCK_SKEW_SECONDS);
}
