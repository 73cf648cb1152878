/** An operator's sessions of the console (`Service:Console`). The ledger records each sign-in and sign-out. */

import { type OperatorPerson, operatorKeyIn, type RoleValues, rolesIn } from '../../domain/operators/operator.ts';
import {
  newOperatorSession,
  OPERATOR_SESSION_TTL,
  type OperatorSession,
} from '../../domain/operators/operator-session.ts';
import { renewal, type SessionHash } from '../../domain/sponsors/session.ts';
import { closeOperatorSession, openOperatorSession, useOperatorSession } from '../decisions/operator-sessions.ts';
import { keepIdToken, SESSION_SECRET_BYTES } from '../me/sessions.ts';
import type { Decisions } from '../ports/decisions.ts';
import type { SignInOutcome } from '../ports/identity-provider.ts';
import type { OperatorSessions } from '../ports/queries.ts';
import type { Digest, Randomness, Sealing, SharedTime } from '../ports/runtime.ts';

interface Sessions {
  readonly decisions: Decisions;
  readonly operatorSessions: OperatorSessions;
  /** As for the sessions of `/me`. */
  readonly sharedTime: SharedTime;
  readonly randomness: Pick<Randomness, 'secret'>;
  readonly digest: Digest;
  readonly sealing: Sealing;
}

/** How the claims of an ID token say who an operator is. */
export interface OperatorClaims {
  /** `Service:Operators:RoleClaim`. */
  readonly roleClaim: string;
  /** `Service:Operators:Roles`. */
  readonly roles: RoleValues;
  /** `Service:UpstreamIdp:SponsorKeyClaim`: as whom blocks name the operator. */
  readonly sponsorKeyClaim: string;
}

export type SignedIn = Extract<SignInOutcome, { readonly kind: 'signed_in' }>;

export function operatorOf({ issuer, person, claims }: SignedIn, names: OperatorClaims): OperatorPerson {
  const { roleClaim, roles, sponsorKeyClaim } = names;
  const sponsorKey = operatorKeyIn(claims, sponsorKeyClaim);
  return { kind: 'person', issuer, subject: person.subject, sponsorKey, roles: rolesIn(claims, roleClaim, roles) };
}

/**
 * Opens a session, and closes the one that the browser had. `undefined` if the provider has ended the sign-in meanwhile.
 *
 * @param earlier the secret of the browser's session
 */
export async function openOperatorsSession(
  { decisions, sharedTime, randomness, digest, sealing }: Omit<Sessions, 'operatorSessions'>,
  operator: OperatorPerson,
  { person, issuedAt, idToken }: Pick<SignedIn, 'person' | 'issuedAt' | 'idToken'>,
  earlier: string | undefined,
): Promise<string | undefined> {
  const secret = randomness.secret(SESSION_SECRET_BYTES);
  const { sessionId } = person;
  const createdAt = await sharedTime.earliest();
  const session = newOperatorSession(
    digest(secret) as SessionHash,
    { operator, sessionId, ...keepIdToken(sealing, secret, idToken) },
    createdAt,
  );
  const replaces = earlier === undefined ? undefined : (digest(earlier) as SessionHash);
  const verdict = await decisions.decide(openOperatorSession, { session, issuedAt, replaces });
  return verdict === 'opened' ? secret : undefined;
}

/** The session with this secret, which this use renews. `undefined` if it has ended. */
export async function useOperatorsSession(
  { decisions, operatorSessions, sharedTime, digest }: Omit<Sessions, 'randomness' | 'sealing'>,
  secret: string,
): Promise<OperatorSession | undefined> {
  const session = await operatorSessions.find(digest(secret) as SessionHash);
  if (session === undefined || session.expiresAt <= (await sharedTime.latest())) return undefined;
  const renewed = renewal(session, await sharedTime.earliest(), OPERATOR_SESSION_TTL);
  if (renewed !== undefined) {
    await decisions.decide(useOperatorSession, { sessionHash: session.sessionHash, ...renewed });
  }
  return session;
}

/** The same session, without renewing it. */
export async function peekOperatorsSession(
  { operatorSessions, sharedTime, digest }: Pick<Sessions, 'operatorSessions' | 'sharedTime' | 'digest'>,
  secret: string,
): Promise<OperatorSession | undefined> {
  const session = await operatorSessions.find(digest(secret) as SessionHash);
  return session === undefined || session.expiresAt <= (await sharedTime.latest()) ? undefined : session;
}

export async function closeOperatorsSession(
  { decisions, sharedTime, digest }: Pick<Sessions, 'decisions' | 'sharedTime' | 'digest'>,
  secret: string,
): Promise<void> {
  // By the earlier clock: an instance that is ahead must not take a live session for an expired one, which has no record.
  const at = await sharedTime.earliest();
  await decisions.decide(closeOperatorSession, { sessionHash: digest(secret) as SessionHash, at });
}
