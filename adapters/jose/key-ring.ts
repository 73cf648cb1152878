/** Public keys in the form in which signatures are verified with them, and the verification (RFC 7515 §5.2). */

import { type CryptoKey, compactVerify, errors, importJWK } from 'jose';
import type { SignatureFault } from '../../application/ports/keys.ts';
import type { UsableKey } from '../../domain/agents/public-key.ts';
import type { JwsEnvelope } from '../../domain/tokens/compact-jws.ts';

export interface VerificationKey {
  readonly keyId: string | undefined;
  /** The key in each algorithm that it may be used with: an RSA key is another object for each. */
  readonly inAlgorithm: ReadonlyMap<string, CryptoKey>;
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
  const inAlgorithm = new Map<string, CryptoKey>();
  try {
    for (const algorithm of algorithms) {
      const key = await importJWK(material, algorithm);
      if (!(key instanceof Uint8Array)) inAlgorithm.set(algorithm, key);
    }
  } catch {
    return undefined;
  }
  return { keyId: jwk.kid, inAlgorithm, fingerprint: JSON.stringify([jwk.kid, algorithms, material]) };
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
  const fitting = named.filter((key) => key.inAlgorithm.has(jws.algorithm)).slice(0, MAX_KEYS_TRIED);
  if (fitting.length === 0) return { kind: 'key_mismatch' };
  for (const key of fitting) {
    if (await madeSignature(key, jws)) return { kind: 'verified', key };
  }
  return { kind: 'invalid_signature' };
}

async function madeSignature(key: VerificationKey, jws: JwsEnvelope): Promise<boolean> {
  const cryptoKey = key.inAlgorithm.get(jws.algorithm);
  if (cryptoKey === undefined) return false;
  try {
    await compactVerify(jws.text, cryptoKey, { algorithms: [jws.algorithm] });
    return true;
  } catch (fault) {
    // Whatever else the library finds wrong with a token is no signature either; other exceptions are bugs of ours.
    if (fault instanceof errors.JOSEError) return false;
    throw fault;
  }
}
