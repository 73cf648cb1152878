/** The key of an agent, and the client assertions that it signs (`private_key_jwt`, supplement "Client assertions"). */

import { randomUUID } from 'node:crypto';
import { makeSigningKey, type SigningAlgorithm, type SigningKey } from '../signing-key.ts';

interface AssertionClaims {
  /** The issuer of the service, or its token endpoint. */
  readonly aud: unknown;
  /** Replaces the default claim of this name; `undefined` removes it. */
  readonly [claim: string]: unknown;
}

export interface AgentKey extends SigningKey {
  /** The `jwks` for a registration. */
  readonly jwks: { readonly keys: readonly object[] };
  /** Signs an assertion with a random `jti` that lives a minute. Given members replace the defaults. */
  signAssertion(agentId: string, claims: AssertionClaims, header?: Readonly<Record<string, unknown>>): string;
}

/** In seconds. */
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
