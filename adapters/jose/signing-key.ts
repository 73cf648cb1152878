/** A signing key of the service: EC P-256, for ES256 (specification "Configuration rules", `Service:Signing:Keys`). */

import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import type { JWK } from 'jose';
import { calculateJwkThumbprint } from 'jose/jwk/thumbprint';
import { exportJWK } from 'jose/key/export';
import { importJWK } from 'jose/key/import';
import type { Jwk } from '../../domain/agents/public-key.ts';
import { Secret } from '../../domain/secret.ts';
import { makeSignature } from './signature.ts';

export const SIGNING_ALGORITHM = 'ES256';

/** The public half of a key: it is published and verifies. */
export interface PublicHalf {
  readonly keyId: string;
  /** Public members, with `kid`, `use` and `alg`. */
  readonly publicJwk: Jwk;
}

export interface SigningKey extends PublicHalf {
  /** Signs these bytes (RFC 7518 §3.4). No other code holds the private key. */
  readonly sign: (input: Buffer) => Buffer;
}

/** Whether a configured key is whole. Of a retired key, only the public half may be configured. */
export function canSign(key: PublicHalf): key is SigningKey {
  return 'sign' in key;
}

/** The fault of a configured key: the rest of a sentence, without any part of the key. */
type SigningKeyProblem =
  | 'is not a private key in PEM (PKCS#8 or SEC1, not encrypted)'
  | 'is not a public key in PEM (SPKI)'
  | 'holds more than one private key'
  | 'holds more than one public key'
  | 'is not an EC key on P-256'
  | 'has a private part that does not belong to its public part'
  | 'must have a Kid of 1 to 256 characters';

interface Material {
  readonly kty: string;
  readonly crv: string;
  readonly x: string;
  readonly y: string;
}

type ReadSigningKey =
  | { readonly kind: 'read'; readonly key: SigningKey }
  /** The file of a retired key (SPKI). */
  | { readonly kind: 'public_half'; readonly key: PublicHalf }
  | { readonly kind: 'unusable'; readonly problem: SigningKeyProblem };

/** The limit of Mandate's own verifiers. */
const MAX_KEY_ID = 256;

/** @param keyId by default the RFC 7638 thumbprint */
export async function readSigningKey(pem: string, keyId?: string): Promise<ReadSigningKey> {
  if (keyId !== undefined && (keyId === '' || keyId.length > MAX_KEY_ID || !keyId.isWellFormed())) {
    return unusable('must have a Kid of 1 to 256 characters');
  }
  if (pem.split(/-----BEGIN [A-Z ]*PRIVATE KEY-----/).length > 2) return unusable('holds more than one private key');
  if (PUBLIC_KEY.test(pem) && !pem.includes('PRIVATE KEY-----')) return readPublicHalf(pem, keyId);
  const object = keyObject(() => createPrivateKey({ key: pem, format: 'pem' }));
  if (object === undefined) return unusable('is not a private key in PEM (PKCS#8 or SEC1, not encrypted)');
  if (!isP256(object)) return unusable('is not an EC key on P-256');
  const key = await signingKey(await exportJWK(object), keyId);
  return key === undefined
    ? unusable('has a private part that does not belong to its public part')
    : { kind: 'read', key };
}

const PUBLIC_KEY = /-----BEGIN PUBLIC KEY-----/;

async function readPublicHalf(pem: string, keyId?: string): Promise<ReadSigningKey> {
  if (pem.split(PUBLIC_KEY).length > 2) return unusable('holds more than one public key');
  const object = keyObject(() => createPublicKey({ key: pem, format: 'pem' }));
  if (object === undefined) return unusable('is not a public key in PEM (SPKI)');
  if (!isP256(object)) return unusable('is not an EC key on P-256');
  const { kty = '', crv = '', x = '', y = '' } = await exportJWK(object);
  return { kind: 'public_half', key: await publicHalf({ kty, crv, x, y }, keyId) };
}

function isP256({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): boolean {
  return asymmetricKeyType === 'ec' && asymmetricKeyDetails?.namedCurve === 'prime256v1';
}

async function publicHalf(material: Material, keyId?: string): Promise<PublicHalf> {
  const kid = keyId ?? (await calculateJwkThumbprint(material));
  return { keyId: kid, publicJwk: { ...material, kid, use: 'sig', alg: SIGNING_ALGORITHM } };
}

/** The PEM text of the public half (SPKI), with a trailing line feed. */
export function publicPem({ publicJwk: { kty, crv = '', x = '', y = '' } }: PublicHalf): string {
  const key = createPublicKey({ key: { kty, crv, x, y }, format: 'jwk' });
  return key.export({ type: 'spki', format: 'pem' }).toString();
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
  if (read.kind !== 'read') throw new Error('A key that was just generated cannot be read.');
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
  const sign = (input: Buffer) => makeSignature(SIGNING_ALGORITHM, privateKey, input);
  return { ...(await publicHalf(material, keyId)), sign };
}

function keyObject(read: () => KeyObject): KeyObject | undefined {
  try {
    return read();
  } catch {
    // The error is dropped, because OpenSSL's message may quote the input.
    return undefined;
  }
}

function unusable(problem: SigningKeyProblem): ReadSigningKey {
  return { kind: 'unusable', problem };
}

/** RFC 7638: the thumbprint depends on the key material only, not on the `kid`. */
export function thumbprintOf({ publicJwk }: Pick<PublicHalf, 'publicJwk'>): Promise<string> {
  return jwkThumbprint(publicJwk);
}

/** @param jwk of an EC key */
export function jwkThumbprint({ kty, crv = '', x = '', y = '' }: Jwk): Promise<string> {
  return calculateJwkThumbprint({ kty, crv, x, y });
}
