/** Whether a remembered logout refuses a subject token (`Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut`). */

import type { Instant } from '../../domain/instant.ts';
import type { Person } from '../../domain/sponsors/subject-token.ts';
import { ask, type LogoutTimes } from './fact.ts';

/** The person, the session and the `iat` of a subject token. */
export type SubjectSession = Pick<Person, 'subject' | 'sessionId' | 'issuedAt'>;

/** The first question is about the person, the second about the session. */
export function logoutQuestions({ subject, sessionId }: Pick<SubjectSession, 'subject' | 'sessionId'>) {
  const ofPerson = ask('logout', { kind: 'person', name: subject });
  return sessionId === undefined ? [ofPerson] : [ofPerson, ask('logout', { kind: 'session', name: sessionId })];
}

/**
 * A logout of a session refuses all tokens of that session. A logout of a person refuses the person's tokens that were
 * issued no later than the logout. A token without `iat` counts as issued before.
 *
 * @param answers the answers to `logoutQuestions`; empty if the setting is off
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
