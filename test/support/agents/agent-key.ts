/** An agent's key and its `private_key_jwt` assertions (supplement "Client assertions"). */

import { randomUUID } from 'node:crypto';
import { makeSigningKey, type SigningAlgorithm, type SigningKey } from '../signing-key.ts';

interface AssertionClaims {
  /** The service's issuer or token endpoint. */
  readonly aud: unknown;
  /** Replaces the usual claim of that name; `undefined` removes it. */
  readonly [claim: string]: unknown;
}

export interface AgentKey extends SigningKey {
  /** The `jwks` of a registration. */
  readonly jwks: { readonly keys: readonly object[] };
  /**
   * An assertion with `iss` and `sub` the agent, a random `jti` and a lifetime of a minute. The given members replace
   * the usual ones.
   */
  signAssertion(agentId: string, claims: AssertionClaims, header?: Readonly<Record<string, unknown>>): string;
}

/** Seconds. */
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
