/** Private keys for tests. They sign anything, including malformed tokens that a library would refuse to sign. */

import {
  constants,
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  type JsonWebKey,
  type KeyObject,
  sign,
} from 'node:crypto';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';

/** `Ed25519` is the name of RFC 9864 for `EdDSA` on that curve. */
export type SigningAlgorithm = 'ES256' | 'RS256' | 'PS256' | 'Ed25519';

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

const rsaKeys =
  readFileSync(new URL('rsa-keys.pem', import.meta.url), 'utf8').match(/^-----BEGIN.*?^-----END[^\n]*$/gms) ?? [];
let usedRsaKeys = 0;

/** The RSA keys have 2048 bits. */
export async function makeSigningKey(alg: SigningAlgorithm): Promise<SigningKey> {
  const { privateKey, publicKey } = await makePair(alg);
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

function makePair(alg: SigningAlgorithm) {
  if (alg === 'Ed25519') return generate('ed25519');
  return alg === 'ES256' ? generate('ec', { namedCurve: 'P-256' }) : nextRsaPair();
}

/** Making an RSA key takes a tenth of a second. So the keys are those of a file, one after the other. */
function nextRsaPair() {
  const privateKey = createPrivateKey(rsaKeys[usedRsaKeys++ % rsaKeys.length] ?? '');
  return { privateKey, publicKey: createPublicKey(privateKey) };
}

function signCompact(
  alg: SigningAlgorithm,
  key: KeyObject,
  header: object | string,
  payload: object | string | Uint8Array,
): string {
  const input = `${encode(header)}.${encode(payload)}`;
  const signature = sign(alg === 'Ed25519' ? null : 'sha256', Buffer.from(input), {
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
  const { kty, crv, x, y, e, n } = jwk;
  const members = kty === 'RSA' ? { e, kty, n } : kty === 'OKP' ? { crv, kty, x } : { crv, kty, x, y };
  return createHash('sha256').update(JSON.stringify(members)).digest('base64url');
}
