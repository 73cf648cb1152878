/** The sessions of one page: a sign-in begins one, requests find it by the browser's secret, a sign-out ends it. */

import type { Instant } from '../domain/instant.ts';
import { Secret } from '../domain/secret.ts';
import {
  type KeptIdToken,
  newSession,
  renewal,
  type Session,
  type SessionHash,
  type SessionHolder,
  type SessionKind,
} from '../domain/sessions/session.ts';
import { closeSession, openSession, useSession } from './decisions/sessions.ts';
import type { Decisions } from './ports/decisions.ts';
import type { Digest, Randomness, Sealing, SharedTime } from './ports/runtime.ts';
import type { Sessions } from './ports/sessions.ts';

/** The dependencies of the sessions of one kind. */
export interface PageSessions {
  readonly kind: SessionKind;
  /** Seconds without use. */
  readonly ttl: number;
  readonly digest: Digest;
  readonly sealing: Sealing;
  readonly decisions: Decisions;
  readonly sessions: Sessions;
  /** A session begins by the earlier clock and is over by the later one: no instance makes it last longer. */
  readonly sharedTime: SharedTime;
  readonly randomness: Pick<Randomness, 'secret'>;
}

const SECRET_BYTES = 32;

/**
 * A sign-out sends the ID token to the provider in an address, which servers limit to 8 KiB together with the cookies. With a
 * longer one it names the client alone.
 */
const LONGEST_ID_TOKEN = 4096;

/**
 * Encrypts the ID token with the browser's secret. A copy of the database alone neither shows what the token says of the
 * person, nor can be presented to the provider.
 */
export function keepIdToken(sealing: Sealing, secret: string, idToken: Secret): KeptIdToken {
  const text = idToken.reveal();
  return { sealedIdToken: text.length > LONGEST_ID_TOKEN ? undefined : sealing.seal(secret, text) };
}

export function keptIdToken(sealing: Sealing, secret: string, { sealedIdToken }: KeptIdToken): Secret | undefined {
  const text = sealedIdToken === undefined ? undefined : sealing.open(secret, sealedIdToken);
  return text === undefined ? undefined : new Secret(text);
}

/**
 * Opens a session, and closes the one that the browser had. `undefined` if the provider has ended the sign-in meanwhile.
 *
 * @param earlier the secret of the browser's session
 * @returns the secret of the new session
 */
export async function beginSession(
  { kind, ttl, decisions, sharedTime, randomness, digest, sealing }: Omit<PageSessions, 'sessions'>,
  holder: SessionHolder,
  { issuedAt, idToken }: { readonly issuedAt: Instant | undefined; readonly idToken: Secret },
  earlier: string | undefined,
): Promise<string | undefined> {
  const secret = randomness.secret(SECRET_BYTES);
  const kept = keepIdToken(sealing, secret, idToken);
  const named = { kind, sessionHash: digest(secret) as SessionHash };
  const session = newSession(named, { ...holder, ...kept }, await sharedTime.earliest(), ttl);
  const replaces = earlier === undefined ? undefined : (digest(earlier) as SessionHash);
  const verdict = await decisions.decide(openSession, { session, issuedAt, replaces });
  return verdict === 'opened' ? secret : undefined;
}

/** The session with this secret. `undefined` if it has ended. */
export async function peekSession(
  { kind, sessions, sharedTime, digest }: Pick<PageSessions, 'kind' | 'sessions' | 'sharedTime' | 'digest'>,
  secret: string,
): Promise<Session | undefined> {
  const session = await sessions.find(kind, digest(secret) as SessionHash);
  return session === undefined || session.expiresAt <= (await sharedTime.latest()) ? undefined : session;
}

/** The same, and renews the session. */
export async function findSession(
  service: Omit<PageSessions, 'randomness' | 'sealing'>,
  secret: string,
): Promise<Session | undefined> {
  const session = await peekSession(service, secret);
  if (session === undefined) return undefined;
  const renewed = renewal(session, await service.sharedTime.earliest(), service.ttl);
  if (renewed !== undefined) {
    await service.decisions.decide(useSession, { sessionHash: session.sessionHash, ...renewed });
  }
  return session;
}

export async function endSession(
  { kind, decisions, sharedTime, digest }: Pick<PageSessions, 'kind' | 'decisions' | 'sharedTime' | 'digest'>,
  secret: string,
): Promise<void> {
  // By the earlier clock: an instance that is ahead must not take a live session for an expired one, which has no record.
  const at = await sharedTime.earliest();
  await decisions.decide(closeSession, { kind, sessionHash: digest(secret) as SessionHash, at });
}
