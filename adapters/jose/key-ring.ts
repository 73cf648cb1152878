/** Public keys in the form in which signatures are verified with them, and the verification (RFC 7515 §5.2). */

import { KeyObject } from 'node:crypto';
import { importJWK } from 'jose';
import type { SignatureFault } from '../../application/ports/keys.ts';
import type { SignatureAlgorithm, UsableKey } from '../../domain/agents/public-key.ts';
import type { JwsEnvelope } from '../../domain/tokens/compact-jws.ts';
import { isSignature } from './signature.ts';

export interface VerificationKey {
  readonly keyId: string | undefined;
  readonly key: KeyObject;
  /** Those that it may be used with. */
  readonly algorithms: readonly SignatureAlgorithm[];
  /** The same for the same key with the same `kid` and algorithms, however often it was fetched. */
  readonly fingerprint: string;
}

export type KeyRing = readonly VerificationKey[];

export type RingVerdict =
  | { readonly kind: 'verified'; readonly key: VerificationKey }
  | { readonly kind: Exclude<SignatureFault, 'keys_unavailable'> };

/** A token that names no key is tried with as many: a bound on what one request can cost. */
const MAX_KEYS_TRIED = 16;

/** Leaves out what turns out to be no key after all: a point that is not on its curve, say. */
export async function importKeys(keys: readonly UsableKey[]): Promise<KeyRing> {
  const imported = await Promise.all(keys.map(importKey));
  return imported.filter((key) => key !== undefined);
}

async function importKey({ jwk, algorithms }: UsableKey): Promise<VerificationKey | undefined> {
  // Only what makes the key: `use`, `key_ops` and `alg` have been judged, and an importer has its own ideas of them.
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

/** The algorithm is one that the surface accepts and the key can do; the token only says which of these it means. */
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
  for (const { key, algorithm } of fitting.slice(0, MAX_KEYS_TRIED)) {
    if (await isSignature(algorithm, key.key, input, signature)) return { kind: 'verified', key };
  }
  return { kind: 'invalid_signature' };
}
