/** A person's sessions at the page `/me` (`Service:Me:ClientId`). Signing in and out is not recorded in the ledger. */

import type { Instant } from '../../domain/instant.ts';
import { Secret } from '../../domain/secret.ts';
import {
  type KeptIdToken,
  newSession,
  renewal,
  type Session,
  type SessionHash,
  type SignedInPerson,
} from '../../domain/sponsors/session.ts';
import { closeSession, openSession, useSession } from '../decisions/sessions.ts';
import type { Decisions } from '../ports/decisions.ts';
import type { Sessions } from '../ports/queries.ts';
import type { Digest, Randomness, Sealing, SharedTime } from '../ports/runtime.ts';

interface MySessions {
  readonly decisions: Decisions;
  readonly sessions: Sessions;
  /** A session begins by the earlier clock and is over by the later one: no instance makes it last longer. */
  readonly sharedTime: SharedTime;
  readonly randomness: Pick<Randomness, 'secret'>;
  readonly digest: Digest;
  readonly sealing: Sealing;
  /** Seconds: `Service:Me:SessionTtl`. */
  readonly ttl: number;
}

export const SESSION_SECRET_BYTES = 32;

/**
 * A sign-out sends the ID token to the provider in an address, which servers limit to 8 KiB together with the cookies. With a
 * longer one it names the client alone.
 */
const LONGEST_ID_TOKEN = 4096;

/**
 * Keeps the ID token so that only the browser's secret opens it: from the database alone nobody can read what it says of
 * the person, or present it to the provider.
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
export async function openMySession(
  { decisions, sharedTime, randomness, digest, sealing, ttl }: Omit<MySessions, 'sessions'>,
  signedIn: { readonly person: SignedInPerson; readonly issuedAt: Instant | undefined; readonly idToken: Secret },
  earlier: string | undefined,
): Promise<string | undefined> {
  const secret = randomness.secret(SESSION_SECRET_BYTES);
  const createdAt = await sharedTime.earliest();
  const kept = keepIdToken(sealing, secret, signedIn.idToken);
  const session = newSession(digest(secret) as SessionHash, { ...signedIn.person, ...kept }, createdAt, ttl);
  const replaces = earlier === undefined ? undefined : (digest(earlier) as SessionHash);
  const verdict = await decisions.decide(openSession, { session, issuedAt: signedIn.issuedAt, replaces });
  return verdict === 'opened' ? secret : undefined;
}

/** The session with this secret, which this use renews. `undefined` if it has ended. */
export async function useMySession(
  { decisions, sessions, sharedTime, digest, ttl }: Omit<MySessions, 'randomness' | 'sealing'>,
  secret: string,
): Promise<Session | undefined> {
  const session = await sessions.find(digest(secret) as SessionHash);
  if (session === undefined || session.expiresAt <= (await sharedTime.latest())) return undefined;
  const renewed = renewal(session, await sharedTime.earliest(), ttl);
  if (renewed !== undefined) {
    await decisions.decide(useSession, { sessionHash: session.sessionHash, ...renewed });
  }
  return session;
}

export async function closeMySession(
  { decisions, digest }: Pick<MySessions, 'decisions' | 'digest'>,
  secret: string,
): Promise<void> {
  await decisions.decide(closeSession, digest(secret) as SessionHash);
}
