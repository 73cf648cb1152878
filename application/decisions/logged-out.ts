/**
 * Whether a remembered logout refuses a subject token (`Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut`), or the ID
 * token of a sign-in at a page.
 */

import type { Instant } from '../../domain/instant.ts';
import type { SessionKind } from '../../domain/sessions/session.ts';
import type { SubjectSession } from '../../domain/sponsors/subject-token.ts';
import { ask, type LogoutTimes } from './fact.ts';

/**
 * About the person, the token's session, and for a token without a session the person's tokens without one.
 *
 * @param page of an ID token: where it signs the person in
 */
export function logoutQuestions(
  { subject, sessionId }: Pick<SubjectSession, 'subject' | 'sessionId'>,
  page?: SessionKind,
): readonly (LogoutQuestion | undefined)[] {
  const prefix = page === undefined ? '' : (`${page}_` as const);
  const ofPerson = ask('logout', { kind: `${prefix}person`, name: subject });
  return sessionId === undefined
    ? [ofPerson, undefined, ask('logout', { kind: `${prefix}person_without_session`, name: subject })]
    : [ofPerson, ask('logout', { kind: `${prefix}session`, name: sessionId })];
}

type LogoutQuestion = ReturnType<typeof ask<'logout'>>;

/**
 * A logout of a session refuses all tokens of that session. A logout of a person, or of the person's tokens without a
 * session, refuses those that were issued no later than the logout. A token without `iat` counts as issued before.
 *
 * @param answers the answers to `logoutQuestions`; empty if the setting is off
 */
export function isLoggedOut(
  [ofPerson, ofSession, ofPersonWithoutSession]: readonly (LogoutTimes | undefined)[],
  issuedAt: Instant | undefined,
  at: Instant,
): boolean {
  if (ofSession !== undefined && ofSession.forgetAt > at) return true;
  return [ofPerson, ofPersonWithoutSession].some(
    (logout) => logout !== undefined && logout.forgetAt > at && (issuedAt === undefined || logout.statedAt >= issuedAt),
  );
}
