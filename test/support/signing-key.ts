/** Private keys for tests. They sign anything, including malformed tokens that a library would refuse to sign. */

import { constants, createHash, generateKeyPair, type JsonWebKey, type KeyObject, sign } from 'node:crypto';
import { promisify } from 'node:util';

export type SigningAlgorithm = 'ES256' | 'RS256' | 'PS256';

export interface SigningKey {
  readonly alg: SigningAlgorithm;
  /** The RFC 7638 thumbprint of the key. */
  readonly kid: string;
  readonly privateKey: KeyObject;
  /** Has `alg`, `kid`, `use` and the private members. */
  readonly privateJwk: JsonWebKey;
  readonly publicJwk: JsonWebKey;
  /** Signs a compact JWS. Objects become JSON; strings and bytes stay unchanged. It checks and adds nothing. */
  sign(header: object | string, payload: object | string | Uint8Array): string;
}

const generate = promisify(generateKeyPair);

/** Makes a P-256 key for ES256, otherwise an RSA key of 2048 bits. */
export async function makeSigningKey(alg: SigningAlgorithm): Promise<SigningKey> {
  const { privateKey, publicKey } =
    alg === 'ES256' ? await generate('ec', { namedCurve: 'P-256' }) : await generate('rsa', { modulusLength: 2048 });
  const publicMembers = publicKey.export({ format: 'jwk' });
  const kid = thumbprint(publicMembers);
  const publicJwk = { ...publicMembers, alg, kid, use: 'sig' };
  const privateJwk = { ...privateKey.export({ format: 'jwk' }), alg, kid, use: 'sig' };
  return {
    alg,
    kid,
    privateKey,
    privateJwk,
    publicJwk,
    sign: (header, payload) => signCompact(alg, privateKey, header, payload),
  };
}

function signCompact(
  alg: SigningAlgorithm,
  key: KeyObject,
  header: object | string,
  payload: object | string | Uint8Array,
): string {
  const input = `${encode(header)}.${encode(payload)}`;
  const signature = sign('sha256', Buffer.from(input), {
    key,
    dsaEncoding: 'ieee-p1363',
    ...(alg === 'PS256' ? { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 } : {}),
  });
  return `${input}.${signature.toString('base64url')}`;
}

function encode(part: object | string | Uint8Array): string {
  if (part instanceof Uint8Array) {
    return Buffer.from(part).toString('base64url');
  }
  return Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url');
}

/** RFC 7638 §3.2: the required members only, in lexicographic order. */
function thumbprint(jwk: JsonWebKey): string {
  const members =
    jwk.kty === 'RSA' ? { e: jwk.e, kty: jwk.kty, n: jwk.n } : { crv: jwk.crv, kty: jwk.kty, x: jwk.x, y: jwk.y };
  return createHash('sha256').update(JSON.stringify(members)).digest('base64url');
}
