/** The cryptography of this library, with node:crypto. */

import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';

export function sha256(bytes: Uint8Array): Uint8Array {
  return createHash('sha256').update(bytes).digest();
}

/** `undefined` for a point that is not on the curve, which OpenSSL refuses. */
export function importP256({ x, y }: { readonly x?: string; readonly y?: string }): KeyObject | undefined {
  try {
    const point = { ...(x !== undefined && { x }), ...(y !== undefined && { y }) };
    return createPublicKey({ key: { kty: 'EC', crv: 'P-256', ...point }, format: 'jwk' });
  } catch {
    return undefined;
  }
}

/** @param signature r and s, 64 bytes */
export function isEs256(key: KeyObject, signed: Uint8Array, signature: Uint8Array): boolean {
  return verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, signature);
}

/** RFC 8032. @param publicKey 32 bytes */
export function isEd25519(publicKey: Uint8Array, signed: Uint8Array, signature: Uint8Array): boolean {
  try {
    const x = Buffer.from(publicKey).toString('base64url');
    return verify(null, signed, createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' }), signature);
  } catch {
    // Not a point of the curve.
    return false;
  }
}
