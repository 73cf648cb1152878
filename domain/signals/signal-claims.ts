/**
 * The claims that both receivers check in a signed signal: issuer, audience, dates and `jti` (RFC 8417 §2.2; supplement
 * "Reasons", in the order of that list).
 */

import { hasControl } from '../control-characters.ts';
import { type Instant, instantFromSeconds, toSeconds } from '../instant.ts';
import type { Claims } from '../tokens/claims.ts';
import { CLOCK_SKEW_SECONDS } from '../tokens/compact-jws.ts';

export const MAX_SIGNAL_IDENTIFIER = 256;

export interface ExpectedSignal {
  /** The issuer to which the verifying keys belong. */
  readonly issuer: string;
  readonly audience: string;
  readonly maxAgeSeconds: number;
  readonly now: Instant;
  /** The later of this instance's clock and the database's: the token is too old or expired by it, as an assertion is past. */
  readonly latest: Instant;
}

/** A signal's `jti`, which is accepted once. */
export interface SignalUse {
  readonly jti: string;
  /** From this time the token is too old, and its `jti` can be forgotten. */
  readonly forgetAt: Instant;
}

type SignalClaimsFault =
  | 'untrusted_issuer'
  | 'audience_mismatch'
  | 'missing_issued_at'
  | 'not_yet_valid'
  | 'too_old'
  | 'missing_jti'
  | 'expired';

type SignalClaimsVerdict =
  /** `issuedAt` is the token's `iat`. */
  | ({ readonly kind: 'accepted'; readonly issuedAt: Instant } & SignalUse)
  | { readonly kind: 'refused'; readonly check: SignalClaimsFault };

/** The length of the `jti` is not checked here: each receiver has its own reason for that. */
export function judgeSignalClaims(claims: Claims, expected: ExpectedSignal): SignalClaimsVerdict {
  const refused = (check: SignalClaimsFault) => ({ kind: 'refused', check }) as const;
  const now = toSeconds(expected.now);

  const { issuer, audience, issuedAt, notBefore, expiry, tokenId: jti } = claims;
  if (issuer !== expected.issuer) return refused('untrusted_issuer');
  if (!audience?.includes(expected.audience)) return refused('audience_mismatch');
  if (issuedAt === undefined) return refused('missing_issued_at');
  const starts = Math.max(issuedAt, notBefore ?? issuedAt);
  if (starts > now + CLOCK_SKEW_SECONDS) return refused('not_yet_valid');
  const oldestAccepted = expected.maxAgeSeconds + CLOCK_SKEW_SECONDS;
  if (toSeconds(expected.latest) - issuedAt > oldestAccepted) return refused('too_old');
  if (jti === undefined || jti === '' || hasControl(jti)) return refused('missing_jti');
  // RFC 8417 §2.2 recommends that an event token has no exp. If present, it limits the token as it does any other
  // token.
  if (expiry !== undefined && expiry + CLOCK_SKEW_SECONDS <= toSeconds(expected.latest)) return refused('expired');
  // The token is accepted until the end of its last second, so the jti is kept one second longer.
  const forgetAt = instantFromSeconds(issuedAt + oldestAccepted + 1);
  return { kind: 'accepted', jti, forgetAt, issuedAt: instantFromSeconds(issuedAt) };
}
