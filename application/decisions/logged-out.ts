/** Whether a remembered logout refuses a subject token (`Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut`). */

import type { Instant } from '../../domain/instant.ts';
import type { Person } from '../../domain/sponsors/subject-token.ts';
import { ask, type LogoutTimes } from './fact.ts';

/** A subject token's sign-in: its person, session and time. */
export type SubjectSession = Pick<Person, 'subject' | 'sessionId' | 'issuedAt'>;

/** About the person first, then about the session. */
export function logoutQuestions({ subject, sessionId }: Pick<SubjectSession, 'subject' | 'sessionId'>) {
  const ofPerson = ask('logout', { kind: 'person', name: subject });
  return sessionId === undefined ? [ofPerson] : [ofPerson, ask('logout', { kind: 'session', name: sessionId })];
}

/**
 * A logout of the session refuses all its tokens, one of the person those that were not issued after it. A token without
 * `iat` counts as issued before.
 *
 * @param answers to `logoutQuestions`; empty if logouts refuse nothing
 */
export function isLoggedOut(
  [ofPerson, ofSession]: readonly (LogoutTimes | undefined)[],
  issuedAt: Instant | undefined,
  at: Instant,
): boolean {
  if (ofSession !== undefined && ofSession.forgetAt > at) return true;
  if (ofPerson === undefined || ofPerson.forgetAt <= at) return false;
  return issuedAt === undefined || ofPerson.statedAt >= issuedAt;
}
