/** An agent's side of `private_key_jwt` (decisions "Client assertions"): its key, and the assertions it makes. */

import { randomUUID } from 'node:crypto';
import { makeSigningKey, type SigningAlgorithm, type SigningKey } from '../signing-key.ts';

interface AssertionClaims {
  /** The service's issuer or token endpoint. */
  readonly aud: unknown;
  /** Any other claim, in place of the usual one; `undefined` leaves a claim out. */
  readonly [claim: string]: unknown;
}

export interface AgentKey extends SigningKey {
  /** What goes into a registration's `jwks`. */
  readonly jwks: { readonly keys: readonly object[] };
  /**
   * A fresh assertion: `iss` and `sub` the agent, a random `jti`, valid for a minute from now unless the claims say
   * otherwise. The header has `alg`, `typ` and `kid`; its members too are replaced by those given.
   */
  signAssertion(agentId: string, claims: AssertionClaims, header?: Readonly<Record<string, unknown>>): string;
}

/** Seconds for which an assertion is valid unless its claims say otherwise. */
const ASSERTION_LIFETIME = 60;

export async function makeAgentKey(alg: SigningAlgorithm = 'ES256'): Promise<AgentKey> {
  const key = await makeSigningKey(alg);
  return {
    ...key,
    jwks: { keys: [key.publicJwk] },
    signAssertion(agentId, claims, header = {}) {
      const now = Math.floor(Date.now() / 1000);
      return key.sign(
        { alg, typ: 'JWT', kid: key.kid, ...header },
        { iss: agentId, sub: agentId, jti: randomUUID(), iat: now, exp: now + ASSERTION_LIFETIME, ...claims },
      );
    },
  };
}
