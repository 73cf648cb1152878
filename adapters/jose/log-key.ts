/** The Ed25519 key of the transparency log, and the verification of the signatures of notes. */

import { createPrivateKey, createPublicKey, generateKeyPairSync, type JsonWebKey, type KeyObject } from 'node:crypto';
import { calculateJwkThumbprint } from 'jose/jwk/thumbprint';
import type { NoteSigner } from '../../application/ports/keys.ts';
import type { Jwk } from '../../domain/agents/public-key.ts';
import type { Hash } from '../../domain/ledger/merkle-tree.ts';
import type { VerifyEd25519 } from '../../domain/log/note.ts';
import { makeVerifierKey, type SignatureType } from '../../domain/log/verifier-key.ts';
import { Secret } from '../../domain/secret.ts';
import { isSignature, makeSignature } from './signature.ts';

type ReadNoteSigner =
  | { readonly kind: 'read'; readonly signer: NoteSigner }
  /** `problem` is the rest of a sentence, without any part of the key. */
  | { readonly kind: 'unusable'; readonly problem: string };

/**
 * @param name the name of the key in notes
 * @param taken public keys that sign something else
 */
export async function readNoteSigner(
  pem: string,
  {
    hash,
    name,
    type,
    taken = [],
  }: { readonly hash: Hash; readonly name: string; readonly type: SignatureType; readonly taken?: readonly Jwk[] },
): Promise<ReadNoteSigner> {
  let privateKey: KeyObject;
  let jwk: JsonWebKey;
  try {
    privateKey = createPrivateKey({ key: pem, format: 'pem' });
    jwk = createPublicKey(privateKey).export({ format: 'jwk' });
  } catch {
    // The error is dropped, because OpenSSL's message may quote the input.
    return { kind: 'unusable', problem: 'is not an Ed25519 private key in PEM (PKCS#8, not encrypted)' };
  }
  if (taken.some(({ x, y }) => x === jwk.x && y === jwk.y)) {
    return { kind: 'unusable', problem: 'is also a key that signs tokens' };
  }
  if (privateKey.asymmetricKeyType !== 'ed25519') return { kind: 'unusable', problem: 'is not an Ed25519 key' };
  const { kty = '', crv = '', x = '' } = jwk;
  return {
    kind: 'read',
    signer: {
      key: makeVerifierKey(hash, name, type, Buffer.from(x, 'base64url')),
      thumbprint: await calculateJwkThumbprint({ kty, crv, x }),
      sign: (message) => makeSignature('EdDSA', privateKey, message),
    },
  };
}

/** A new Ed25519 key in PKCS#8 PEM. */
export function newNoteKey(): Secret {
  return new Secret(generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
}

export const verifyEd25519: VerifyEd25519 = (publicKey, message, signature) => {
  try {
    const x = Buffer.from(publicKey).toString('base64url');
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
    return isSignature('EdDSA', key, message, signature);
  } catch {
    // The key is not a point of the curve.
    return false;
  }
};
