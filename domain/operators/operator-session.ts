/** An operator's session of the console. The browser holds its secret, and the database only the hash. */

import type { Instant } from '../instant.ts';
import { type KeptIdToken, type SessionHash, type SessionTimes, timesFrom } from '../sponsors/session.ts';
import type { OperatorPerson } from './operator.ts';

export interface OperatorSession extends SessionTimes, KeptIdToken {
  readonly sessionHash: SessionHash;
  /** With the roles of the sign-in: a new one reads them again. */
  readonly operator: OperatorPerson;
  /** The identity provider's session (`sid`), if the ID token named one. */
  readonly sessionId: string | undefined;
}

/** Seconds without use. However often it is used, a session ends eight hours after the sign-in. */
export const OPERATOR_SESSION_TTL = 15 * 60;

export function newOperatorSession(
  sessionHash: SessionHash,
  { operator, sessionId, sealedIdToken }: Pick<OperatorSession, 'operator' | 'sessionId' | 'sealedIdToken'>,
  at: Instant,
): OperatorSession {
  return { sessionHash, operator, sessionId, sealedIdToken, ...timesFrom(at, OPERATOR_SESSION_TTL) };
}
