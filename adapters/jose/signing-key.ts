/** One of the service's own keys: EC P-256, for ES256 (specification "Configuration rules", `Service:Signing:Keys`). */

import { createPrivateKey, type KeyObject } from 'node:crypto';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose';
import type { Jwk } from '../../domain/agents/jwk.ts';
import { makeSignature } from './signature.ts';

export const SIGNING_ALGORITHM = 'ES256';

export interface SigningKey {
  readonly keyId: string;
  /** Its signature (RFC 7518 §3.4) of these bytes. The private half itself is nobody else's. */
  readonly sign: (input: Buffer) => Promise<Buffer>;
  /** Public members, with `kid`, `use` and `alg`. */
  readonly publicJwk: Jwk;
}

/** What is wrong with a key that was configured: the end of a sentence, without anything of the key. */
type SigningKeyProblem =
  | 'is not a private key in PEM (PKCS#8 or SEC1, not encrypted)'
  | 'holds more than one private key'
  | 'is not an EC key on P-256'
  | 'has a private part that does not belong to its public part'
  | 'must have a Kid of 1 to 256 characters';

export type ReadSigningKey =
  | { readonly kind: 'read'; readonly key: SigningKey }
  | { readonly kind: 'unusable'; readonly problem: SigningKeyProblem };

/** As long as verifiers here accept one. */
const MAX_KEY_ID = 256;

/** @param keyId the RFC 7638 thumbprint when none is given */
export async function readSigningKey(pem: string, keyId?: string): Promise<ReadSigningKey> {
  if (keyId !== undefined && (keyId === '' || keyId.length > MAX_KEY_ID || !keyId.isWellFormed())) {
    return unusable('must have a Kid of 1 to 256 characters');
  }
  if (pem.split(/-----BEGIN [A-Z ]*PRIVATE KEY-----/).length > 2) return unusable('holds more than one private key');
  const object = privateKeyObject(pem);
  if (object === undefined) return unusable('is not a private key in PEM (PKCS#8 or SEC1, not encrypted)');
  if (object.asymmetricKeyType !== 'ec' || object.asymmetricKeyDetails?.namedCurve !== 'prime256v1') {
    return unusable('is not an EC key on P-256');
  }
  const key = await signingKey(await exportJWK(object), keyId);
  return key === undefined
    ? unusable('has a private part that does not belong to its public part')
    : { kind: 'read', key };
}

/** A key that is gone with the process: for a development host only. */
export async function generateSigningKey(): Promise<SigningKey> {
  const pair = await generateKeyPair(SIGNING_ALGORITHM, { extractable: true });
  const key = await signingKey(await exportJWK(pair.privateKey));
  if (key === undefined) throw new Error('A key that was just generated does not verify its own signature.');
  return key;
}

async function signingKey(jwk: JWK, keyId?: string): Promise<SigningKey | undefined> {
  const { kty = '', crv = '', x = '', y = '', d = '' } = jwk;
  const material = { kty, crv, x, y };
  let privateKey: KeyObject;
  try {
    // A PEM file carries both halves of a key, and nothing checked so far that they belong together. This does.
    await importJWK({ ...material, d }, SIGNING_ALGORITHM, { extractable: false });
    privateKey = createPrivateKey({ key: { ...material, d }, format: 'jwk' });
  } catch {
    return undefined;
  }
  const kid = keyId ?? (await calculateJwkThumbprint(material));
  const sign = (input: Buffer) => makeSignature(SIGNING_ALGORITHM, privateKey, input);
  return { keyId: kid, sign, publicJwk: { ...material, kid, use: 'sig', alg: SIGNING_ALGORITHM } };
}

function privateKeyObject(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey({ key: pem, format: 'pem' });
  } catch {
    // OpenSSL's message may quote what it read.
    return undefined;
  }
}

function unusable(problem: SigningKeyProblem): ReadSigningKey {
  return { kind: 'unusable', problem };
}
