/**
 * Sessions of the pages that people sign in to. The browser holds a session's secret, and the database only the hash. A
 * kind is one such page: sessions of one kind open nothing at another.
 */

import { parseSponsorKey } from '../identifiers.ts';
import { type Instant, plusSeconds } from '../instant.ts';
import type { OperatorPerson, OperatorRole } from '../operators/operator.ts';
import { sessionDetail } from '../operators/operator-act.ts';
import type { MePerson } from '../sponsors/me-person.ts';

/** `me`: the page `/me` (`Service:Me`). `operator`: the console (`Service:Console`). */
export const sessionKinds = ['me', 'operator'] as const;
export type SessionKind = (typeof sessionKinds)[number];

declare const brand: unique symbol;
/** SHA-256 of the session's secret, in lowercase hex. */
export type SessionHash = string & { readonly [brand]: 'SessionHash' };

interface SessionTimes {
  readonly createdAt: Instant;
  readonly lastUsedAt: Instant;
  /** The session ends here, if it is not used before. */
  readonly expiresAt: Instant;
}

/** Kept from the sign-in, for a sign-out at the provider. */
export interface KeptIdToken {
  /** The ID token, encrypted with the session's secret. `undefined` if it is too long to keep. */
  readonly sealedIdToken: string | undefined;
}

/** Who holds a session: the person who signed in, as the ID token names them. */
export interface SessionHolder {
  /** `iss`. */
  readonly issuer: string;
  /** `sub`. */
  readonly subject: string;
  /** Blocks name the person by it. A session of `/me` has one. */
  readonly sponsorKey: string | undefined;
  /** An operator's, as of the sign-in: a new one reads them again. Empty at `/me`. */
  readonly roles: readonly OperatorRole[];
  /** The identity provider's session (`sid`), if the ID token named one. */
  readonly sessionId: string | undefined;
  /** `auth_time`: when the person last proved to the identity provider who they are. */
  readonly authenticatedAt: Instant | undefined;
}

export interface Session extends SessionHolder, SessionTimes, KeptIdToken {
  readonly kind: SessionKind;
  readonly sessionHash: SessionHash;
}

/** However often it is used, a session lasts no longer. */
const LONGEST_SECONDS = 8 * 60 * 60;
/** A session of the console ends after so many seconds without use. */
export const OPERATOR_SESSION_TTL = 15 * 60;
/** Live sessions of one person. A person needs one for each browser; without a limit, a script could store any number. */
export const MOST_SESSIONS = 20;
/** Each renewal is a write. */
const RENEWED_EVERY_SECONDS = 60;

/** @param ttl seconds without use */
export function newSession(
  { kind, sessionHash }: Pick<Session, 'kind' | 'sessionHash'>,
  { issuer, subject, sponsorKey, roles, sessionId, authenticatedAt, sealedIdToken }: SessionHolder & KeptIdToken,
  at: Instant,
  ttl: number,
): Session {
  return {
    kind,
    sessionHash,
    issuer,
    subject,
    sponsorKey,
    roles,
    sessionId,
    authenticatedAt,
    sealedIdToken,
    createdAt: at,
    lastUsedAt: at,
    expiresAt: plusSeconds(at, Math.min(ttl, LONGEST_SECONDS)),
  };
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

/** The person at `/me`. `undefined` without a sponsor key: such a session opens nothing there. */
export function personOf(session: SessionHolder): MePerson | undefined {
  const sponsorKey = parseSponsorKey(session.sponsorKey ?? '');
  const { subject, sessionId, authenticatedAt } = session;
  return sponsorKey && { subject, sponsorKey, sessionId, authenticatedAt, by: 'session' };
}

export function operatorOf({ issuer, subject, sponsorKey, roles }: SessionHolder): OperatorPerson {
  return { kind: 'person', issuer, subject, sponsorKey, roles };
}

/** The `detail` of the records of a sign-in and a sign-out. `undefined`: the ledger has none of sessions of this kind. */
export function recordedDetail(session: Session): string | undefined {
  return session.kind === 'operator' ? sessionDetail(operatorOf(session)) : undefined;
}
