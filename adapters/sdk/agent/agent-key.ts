/** The key that signs an agent's client assertions (RFC 7523 §2.2). */

import type { Check } from '../arguments.ts';
import { jwsSigner, type SigningAlgorithm, type SigningKey, type SignJws, signingKey } from '../signing-key.ts';

export type { KeySigner } from '../signing-key.ts';
export type AssertionAlgorithm = SigningAlgorithm;
export type AgentKey = SigningKey;
export type SignAssertion = SignJws;

const ALGORITHMS: readonly AssertionAlgorithm[] = ['ES256', 'PS256', 'RS256'];

export const agentKey: Check = signingKey({ algorithms: ALGORITHMS, needsKeyId: false });

/** @param key was accepted by `agentKey` */
export function assertionSigner(key: AgentKey): SignAssertion {
  return jwsSigner(key, 'JWT', ALGORITHMS);
}
