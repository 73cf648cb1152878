/**
 * The claims of a client assertion whose signature has verified (RFC 7523 §3; specification "Client assertion rules";
 * supplement "Client assertions"). The order of the checks is the order of the supplement's list of reasons.
 */

import { hasControl } from '../control-characters.ts';
import type { DenialReason } from '../denial.ts';
import { MAX_INSTANCE_LENGTH } from '../identifiers.ts';
import { type Instant, instantFromSeconds, toSeconds } from '../instant.ts';
import type { Claims } from '../tokens/claims.ts';
import { CLOCK_SKEW_SECONDS, type CompactJws, hasType } from '../tokens/compact-jws.ts';
import { member } from '../tokens/strict-json.ts';
import { isBlank } from '../visible.ts';

/** Specification "Client assertion rules", rule 2. */
const MAX_LIFETIME_SECONDS = 300;
/**
 * After the database was restored at T, assertions are refused that were issued until T, or a minute later by a clock that
 * is ahead. At this time after T each of them is expired.
 */
export const RESTORE_REFUSES_SECONDS = CLOCK_SKEW_SECONDS + MAX_LIFETIME_SECONDS + CLOCK_SKEW_SECONDS;
const MAX_JTI_LENGTH = 256;
const ACCEPTED_TYPES = ['jwt', 'client-authentication+jwt'];

interface AssertionUse {
  readonly jti: string;
  /** From this time the assertion is expired, and its `jti` can be forgotten. */
  readonly forgetAt: Instant;
  /** The latest `forgetAt` that an assertion with this `iat` can have; without an `iat`, its `forgetAt`. */
  readonly latestForgetAt: Instant;
  /** The agent's own claim about its instance: copied into the task token, never verified. */
  readonly instance: string | undefined;
}

export type AssertionVerdict =
  | ({ readonly kind: 'accepted' } & AssertionUse)
  | { readonly kind: 'refused'; readonly reason: Extract<DenialReason, `actor_${string}`> };

/** Whether `typ` is absent or that of an assertion. Any other type is refused, such as `at+jwt` of a task token. */
export function isAssertionType(jws: CompactJws): boolean {
  return jws.type === undefined || hasType(jws, ACCEPTED_TYPES);
}

interface ExpectedAssertion {
  readonly audiences: readonly string[];
  readonly now: Instant;
  /**
   * The later of this instance's clock and the database's. The assertion is past by it: the `jti` is kept until the earlier
   * of the two has passed its end, so no instance accepts an assertion again (supplement "Clocks").
   */
  readonly latest: Instant;
  /** The latest time by the clocks that are not in doubt. Never later than `latest`. */
  readonly undoubted: Instant;
}

export function judgeAssertion(claims: Claims, expected: ExpectedAssertion): AssertionVerdict {
  const refused = (reason: Extract<DenialReason, `actor_${string}`>) => ({ kind: 'refused', reason }) as const;
  const now = toSeconds(expected.now);

  // With several audiences, another recipient could present the assertion here first.
  const { audience, expiry, issuedAt, notBefore, tokenId: jti } = claims;
  if (audience?.length !== 1 || !audience.every((one) => expected.audiences.includes(one))) {
    return refused('actor_wrong_audience');
  }
  if (expiry === undefined) return refused('actor_missing_expiry');
  if (expiry + CLOCK_SKEW_SECONDS <= toSeconds(expected.latest)) {
    const isPast = expiry + CLOCK_SKEW_SECONDS <= toSeconds(expected.undoubted);
    return refused(isPast ? 'actor_expired' : 'actor_expiry_in_doubt');
  }
  if (issuedAt !== undefined && expiry - issuedAt > MAX_LIFETIME_SECONDS) return refused('actor_lifetime_too_long');
  if (expiry > now + MAX_LIFETIME_SECONDS + CLOCK_SKEW_SECONDS) return refused('actor_lifetime_too_long');
  if (Math.max(issuedAt ?? now, notBefore ?? now) > now + CLOCK_SKEW_SECONDS) return refused('actor_not_yet_valid');

  if (jti === undefined || jti.length < 1 || jti.length > MAX_JTI_LENGTH || hasControl(jti)) {
    return refused('actor_missing_jti');
  }
  const instance = member(claims.json, 'instance') ?? undefined;
  if (instance !== undefined && typeof instance !== 'string') return refused('actor_malformed');
  if (instance !== undefined && instance.length > MAX_INSTANCE_LENGTH) return refused('actor_instance_too_long');

  return {
    kind: 'accepted',
    jti,
    forgetAt: instantFromSeconds(expiry + CLOCK_SKEW_SECONDS),
    latestForgetAt: instantFromSeconds(
      (issuedAt === undefined ? expiry : issuedAt + MAX_LIFETIME_SECONDS) + CLOCK_SKEW_SECONDS,
    ),
    instance: instance === undefined || isBlank(instance) ? undefined : instance,
  };
}
