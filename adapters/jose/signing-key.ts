/** A signing key of the service: EC P-256, for ES256 (specification "Configuration rules", `Service:Signing:Keys`). */

import { createPrivateKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import type { JWK } from 'jose';
import { calculateJwkThumbprint } from 'jose/jwk/thumbprint';
import { exportJWK } from 'jose/key/export';
import { importJWK } from 'jose/key/import';
import type { Jwk } from '../../domain/agents/public-key.ts';
import { Secret } from '../../domain/secret.ts';
import { makeSignature } from './signature.ts';

export const SIGNING_ALGORITHM = 'ES256';

export interface SigningKey {
  readonly keyId: string;
  /** Signs these bytes (RFC 7518 §3.4). No other code holds the private key. */
  readonly sign: (input: Buffer) => Buffer;
  /** Public members, with `kid`, `use` and `alg`. */
  readonly publicJwk: Jwk;
}

/** What is wrong with a configured key: the rest of a sentence, without any part of the key. */
type SigningKeyProblem =
  | 'is not a private key in PEM (PKCS#8 or SEC1, not encrypted)'
  | 'holds more than one private key'
  | 'is not an EC key on P-256'
  | 'has a private part that does not belong to its public part'
  | 'must have a Kid of 1 to 256 characters';

type ReadSigningKey =
  | { readonly kind: 'read'; readonly key: SigningKey }
  | { readonly kind: 'unusable'; readonly problem: SigningKeyProblem };

/** The limit of Mandate's own verifiers. */
const MAX_KEY_ID = 256;

/** @param keyId by default the RFC 7638 thumbprint */
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

const generate = promisify(generateKeyPair);

/**
 * A new key, and its PKCS#8 PEM with a trailing line feed: the format of the operator's file (supplement "How it runs").
 *
 * @param keyId by default the RFC 7638 thumbprint
 */
export async function newSigningKey(keyId?: string): Promise<{ readonly pem: Secret; readonly key: SigningKey }> {
  const { privateKey: pem } = await generate('ec', {
    namedCurve: 'P-256',
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  const read = await readSigningKey(pem, keyId);
  if (read.kind === 'unusable') throw new Error('A key that was just generated cannot be read.');
  return { pem: new Secret(pem), key: read.key };
}

/** Generates a key that exists only in this process, for a development host. */
export async function generateSigningKey(): Promise<SigningKey> {
  return (await newSigningKey()).key;
}

async function signingKey(jwk: JWK, keyId?: string): Promise<SigningKey | undefined> {
  const { kty = '', crv = '', x = '', y = '', d = '' } = jwk;
  const material = { kty, crv, x, y };
  let privateKey: KeyObject;
  try {
    // A PEM file holds both halves of a key. The import checks that they belong together.
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
    // The error is dropped, because OpenSSL's message may quote the input.
    return undefined;
  }
}

function unusable(problem: SigningKeyProblem): ReadSigningKey {
  return { kind: 'unusable', problem };
}

/** RFC 7638: the thumbprint depends on the key material only, not on the `kid`. */
export function thumbprintOf({ publicJwk }: Pick<SigningKey, 'publicJwk'>): Promise<string> {
  return jwkThumbprint(publicJwk);
}

/** @param jwk of an EC key */
export function jwkThumbprint({ kty, crv = '', x = '', y = '' }: Jwk): Promise<string> {
  return calculateJwkThumbprint({ kty, crv, x, y });
}
