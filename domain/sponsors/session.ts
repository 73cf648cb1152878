/** A person's session at the page `/me` (`Service:Me`). The browser holds its secret, and the database only the hash. */

import { type Instant, plusSeconds } from '../instant.ts';
import type { MePerson } from './me-person.ts';

declare const brand: unique symbol;
/** SHA-256 of the session's secret, in lowercase hex. */
export type SessionHash = string & { readonly [brand]: 'SessionHash' };

/** The person who signed in, as the ID token names them. */
export type SignedInPerson = Omit<MePerson, 'by'>;

export interface SessionTimes {
  readonly createdAt: Instant;
  readonly lastUsedAt: Instant;
  /** The session ends here, if it is not used before. */
  readonly expiresAt: Instant;
}

/** What a session keeps of its sign-in for a sign-out at the provider. */
export interface KeptIdToken {
  /** The ID token, encrypted with the session's secret. `undefined` if it is too long to keep. */
  readonly sealedIdToken: string | undefined;
}

export interface Session extends SignedInPerson, SessionTimes, KeptIdToken {
  readonly sessionHash: SessionHash;
}

/** However often it is used, a session lasts no longer. */
const LONGEST_SECONDS = 8 * 60 * 60;
/** Live sessions of one person. A person needs one for each browser; without a limit, a script could store any number. */
export const MOST_SESSIONS = 20;
/** Each renewal is a write. */
const RENEWED_EVERY_SECONDS = 60;

/** @param ttl seconds: `Service:Me:SessionTtl` */
export function newSession(
  sessionHash: SessionHash,
  signedIn: SignedInPerson & KeptIdToken,
  at: Instant,
  ttl: number,
): Session {
  const { subject, sponsorKey, sessionId, authenticatedAt, sealedIdToken } = signedIn;
  return { ...{ sessionHash, subject, sponsorKey, sessionId, authenticatedAt, sealedIdToken }, ...timesFrom(at, ttl) };
}

/** @param ttl seconds */
export function timesFrom(at: Instant, ttl: number): SessionTimes {
  return { createdAt: at, lastUsedAt: at, expiresAt: plusSeconds(at, Math.min(ttl, LONGEST_SECONDS)) };
}

/** The times of the session after a use; `undefined` if its last renewal is recent. */
export function renewal(
  session: Pick<SessionTimes, 'createdAt' | 'lastUsedAt'>,
  at: Instant,
  ttl: number,
): Pick<SessionTimes, 'lastUsedAt' | 'expiresAt'> | undefined {
  // A tenth of a short ttl, or the session would end noticeably before the ttl is over.
  if (at < plusSeconds(session.lastUsedAt, Math.min(RENEWED_EVERY_SECONDS, ttl / 10))) return undefined;
  const [idle, longest] = [plusSeconds(at, ttl), plusSeconds(session.createdAt, LONGEST_SECONDS)];
  return { lastUsedAt: at, expiresAt: idle < longest ? idle : longest };
}
