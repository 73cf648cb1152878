/**
 * Creates and verifies signatures (RFC 7518 §3, RFC 8037 §3.1) with node:crypto. jose imports and checks keys. Its
 * sign and verify functions are not used: they would parse and copy a token that the strict parser has parsed
 * (docs/decisions/0003-the-strict-reader-before-the-library.md). The calls are synchronous: a signature takes 30 to 90
 * µs, and the handover to the thread pool takes about as long (docs/performance.md).
 *
 * This folder has all keys. Others' keys are fetched (published-keys.ts), cached (fetched-keys.ts) and imported
 * (key-ring.ts) to verify tokens: agents' (agent-keys.ts), tool
 * servers' (approval-keys.ts), the provider's (provider-keys.ts). Our own sign tokens and
 * checkpoints (signing-key.ts, signing-keys.ts, checkpoint-signatures.ts), and the notes of the log (log-key.ts).
 */

import { constants, type KeyObject, sign, verify } from 'node:crypto';
import type { SignatureAlgorithm } from '../../domain/agents/public-key.ts';

interface Scheme {
  /** `null` if the algorithm includes the hash. */
  readonly digest: string | null;
  readonly options: {
    readonly dsaEncoding?: 'ieee-p1363';
    readonly padding?: number;
    readonly saltLength?: number;
  };
}

const ecdsa = (digest: string): Scheme => ({ digest, options: { dsaEncoding: 'ieee-p1363' } });
const pkcs1 = (digest: string): Scheme => ({ digest, options: { padding: constants.RSA_PKCS1_PADDING } });
const pss = (digest: string, saltLength: number): Scheme => ({
  digest,
  options: { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength },
});

const SCHEMES: Readonly<Record<SignatureAlgorithm, Scheme>> = {
  ES256: ecdsa('sha256'),
  ES384: ecdsa('sha384'),
  ES512: ecdsa('sha512'),
  RS256: pkcs1('sha256'),
  RS384: pkcs1('sha384'),
  RS512: pkcs1('sha512'),
  PS256: pss('sha256', 32),
  PS384: pss('sha384', 48),
  PS512: pss('sha512', 64),
  EdDSA: { digest: null, options: {} },
};

const FIXED_LENGTHS: Readonly<Partial<Record<SignatureAlgorithm, number>>> = {
  ES256: 64,
  ES384: 96,
  ES512: 132,
  EdDSA: 64,
};

/**
 * The only valid length of a signature. For RSA it is that of the modulus (RFC 8017 §8.1.2, §8.2.2). OpenSSL also accepts
 * a PSS signature without a leading zero byte, so one signature would have two forms.
 */
function lengthOf(algorithm: SignatureAlgorithm, key: KeyObject): number {
  return FIXED_LENGTHS[algorithm] ?? Math.ceil((key.asymmetricKeyDetails?.modulusLength ?? 0) / 8);
}

/** @param key a private key for this algorithm */
export function makeSignature(algorithm: SignatureAlgorithm, key: KeyObject, input: Uint8Array): Buffer {
  const { digest, options } = SCHEMES[algorithm];
  return sign(digest, input, { key, ...options });
}

/** Whether the key made this signature. @param key a public key for this algorithm */
export function isSignature(
  algorithm: SignatureAlgorithm,
  key: KeyObject,
  input: Uint8Array,
  signature: Uint8Array,
): boolean {
  const { digest, options } = SCHEMES[algorithm];
  return signature.length === lengthOf(algorithm, key) && verify(digest, input, { key, ...options }, signature);
}
