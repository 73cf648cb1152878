/**
 * Authenticates the service at the identity provider: `private_key_jwt` with the active signing key (RFC 7523 §2.2).
 * The provider reads the public key at `/.well-known/jwks.json`.
 */

import type { SigningKeys } from '../../application/ports/keys.ts';
import type { Clock, Randomness } from '../../application/ports/runtime.ts';
import { toSeconds } from '../../domain/instant.ts';

/** Seconds. Some providers refuse an assertion that is one second in the future. */
const BACKDATED = 5;
/** Seconds from `iat`: the assertion is used at once, and providers refuse long lifetimes. */
const LIFETIME = 60;
const JTI_BYTES = 16;

/** @param audience the provider's issuer; one, as a string: some refuse a list. No `nbf`: some allow it no skew. */
export function serviceAssertion(
  keys: Pick<SigningKeys, 'sign'>,
  clock: Clock,
  randomness: Pick<Randomness, 'secret'>,
): (clientId: string, audience: string) => Promise<string> {
  return (clientId, audience) => {
    const issuedAt = toSeconds(clock.now()) - BACKDATED;
    return keys.sign('JWT', {
      iss: clientId,
      sub: clientId,
      aud: audience,
      iat: issuedAt,
      exp: issuedAt + LIFETIME,
      jti: randomness.secret(JTI_BYTES),
    });
  };
}
