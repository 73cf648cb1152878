/** Imports public keys, and verifies signatures with them (RFC 7515 §5.2). */

import { KeyObject } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { importJWK } from 'jose/key/import';
import type { SignatureFault } from '../../application/ports/keys.ts';
import type { SignatureAlgorithm, UsableKey } from '../../domain/agents/public-key.ts';
import type { JwsEnvelope } from '../../domain/tokens/compact-jws.ts';
import { isSignature } from './signature.ts';

export interface VerificationKey {
  readonly keyId: string | undefined;
  readonly key: KeyObject;
  /** The algorithms that the key may be used with. */
  readonly algorithms: readonly SignatureAlgorithm[];
  /** Identifies the key with its `kid` and its algorithms. It is the same after each fetch. */
  readonly fingerprint: string;
}

export type KeyRing = readonly VerificationKey[];

type RingVerdict =
  | { readonly kind: 'verified'; readonly key: VerificationKey }
  | { readonly kind: Exclude<SignatureFault, 'keys_unavailable'> };

/** Leaves out keys that cannot be imported. */
export async function importKeys(keys: readonly UsableKey[]): Promise<KeyRing> {
  const imported = await Promise.all(keys.map(importKey));
  return imported.filter((key) => key !== undefined);
}

/** `undefined` if the key cannot be imported, for example because its point is not on its curve. */
export async function importKey({ jwk, algorithms }: UsableKey): Promise<VerificationKey | undefined> {
  // Imports only the key material. `use`, `key_ops` and `alg` are checked, and the import has other rules for them.
  const { kty, crv = '', x = '', y = '', n = '', e = '' } = jwk;
  const material = kty === 'RSA' ? { kty, n, e } : kty === 'EC' ? { kty, crv, x, y } : { kty, crv, x };
  const [algorithm] = algorithms;
  if (algorithm === undefined) return undefined;
  try {
    const imported = await importJWK(material, algorithm);
    if (imported instanceof Uint8Array) return undefined;
    const fingerprint = JSON.stringify([jwk.kid, algorithms, material]);
    return { keyId: jwk.kid, key: KeyObject.from(imported), algorithms, fingerprint };
  } catch {
    return undefined;
  }
}

/** The caller must accept the algorithm, and the key must support it. The token only selects one of these algorithms. */
export async function verifyWithRing(
  ring: KeyRing,
  jws: JwsEnvelope,
  algorithms: readonly string[],
): Promise<RingVerdict> {
  if (!algorithms.includes(jws.algorithm)) return { kind: 'unsupported_algorithm' };
  if (ring.length === 0) return { kind: 'no_registered_keys' };
  const named = jws.keyId === undefined ? ring : ring.filter((key) => key.keyId === jws.keyId);
  if (named.length === 0) return { kind: 'unknown_key' };
  const fitting = named.flatMap((key) => {
    const algorithm = key.algorithms.find((one) => one === jws.algorithm);
    return algorithm === undefined ? [] : [{ key, algorithm }];
  });
  if (fitting.length === 0) return { kind: 'key_mismatch' };
  const end = jws.text.lastIndexOf('.');
  const input = Buffer.from(jws.text.slice(0, end));
  const signature = Buffer.from(jws.text.slice(end + 1), 'base64url');
  for (const [nth, { key, algorithm }] of fitting.entries()) {
    // Every key is tried: the size of the set bounds their number. A large key takes up to 5 ms, and other requests run
    // between two of them.
    if (nth > 0) await nextTurn();
    if (isSignature(algorithm, key.key, input, signature)) return { kind: 'verified', key };
  }
  return { kind: 'invalid_signature' };
}
