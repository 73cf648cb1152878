/**
 * What every signed signal must claim, whichever receiver it comes to: from whom, for whom, how old, and its one use
 * (RFC 8417 §2.2; decisions "Reasons", in the order of that list).
 */

import { type Instant, instantFromSeconds, toSeconds } from '../instant.ts';
import { CLOCK_SKEW_SECONDS } from '../tokens/clock-skew.ts';
import { audienceClaim, dateClaim, textClaim } from '../tokens/compact-jws.ts';
import type { JsonObject } from '../tokens/strict-json.ts';

export const MAX_SIGNAL_IDENTIFIER = 256;
/** Nothing stores or shows these faithfully, so no identifier holds one. */
export const CONTROL = /\p{Cc}/u;

export interface ExpectedSignal {
  /** Whoever the keys that verified the token speak for. */
  readonly issuer: string;
  readonly audience: string;
  readonly maxAgeSeconds: number;
  readonly now: Instant;
}

/** A signal's one use. */
export interface SignalUse {
  readonly jti: string;
  /** When the token could no longer be accepted anyway, and its `jti` may be forgotten. */
  readonly forgetAt: Instant;
}

type SignalClaimsFault =
  | 'untrusted_issuer'
  | 'audience_mismatch'
  | 'missing_issued_at'
  | 'not_yet_valid'
  | 'too_old'
  | 'missing_jti';

export type SignalClaimsVerdict =
  /** `issuedAt` is its `iat`. */
  | ({ readonly kind: 'accepted'; readonly issuedAt: Instant } & SignalUse)
  | { readonly kind: 'refused'; readonly check: SignalClaimsFault };

/** The length of the `jti` is judged by the receiver, which has a reason of its own for it or not. */
export function judgeSignalClaims(claims: JsonObject, expected: ExpectedSignal): SignalClaimsVerdict {
  const refused = (check: SignalClaimsFault) => ({ kind: 'refused', check }) as const;
  const now = toSeconds(expected.now);

  if (textClaim(claims, 'iss') !== expected.issuer) return refused('untrusted_issuer');
  if (!audienceClaim(claims)?.includes(expected.audience)) return refused('audience_mismatch');
  const issuedAt = dateClaim(claims, 'iat');
  if (issuedAt === undefined) return refused('missing_issued_at');
  const starts = Math.max(issuedAt, dateClaim(claims, 'nbf') ?? issuedAt);
  if (starts > now + CLOCK_SKEW_SECONDS) return refused('not_yet_valid');
  const oldestAccepted = expected.maxAgeSeconds + CLOCK_SKEW_SECONDS;
  if (now - issuedAt > oldestAccepted) return refused('too_old');
  const jti = textClaim(claims, 'jti');
  if (jti === undefined || jti === '' || CONTROL.test(jti)) return refused('missing_jti');
  // The second in which it is just not too old yet has to be over.
  const forgetAt = instantFromSeconds(issuedAt + oldestAccepted + 1);
  return { kind: 'accepted', jti, forgetAt, issuedAt: instantFromSeconds(issuedAt) };
}
