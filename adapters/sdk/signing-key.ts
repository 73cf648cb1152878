/** A key with which a library signs JWTs for the control plane: a private key or an external signer. */

import { createPrivateKey, type KeyObject } from 'node:crypto';
import { SignJWT } from 'jose';
import { type Check, callable, membersOf, must, optional, optionsOf, text } from './arguments.ts';

/** The algorithms that the control plane accepts (supplement "Client assertions"). */
export type SigningAlgorithm = 'ES256' | 'PS256' | 'RS256';

/** Signs with a key that this process cannot read: one in a KMS, an HSM or another process. */
export interface KeySigner {
  readonly alg: SigningAlgorithm;
  readonly kid?: string;
  /** @returns the signature in the form of RFC 7518: for ES256 `r` and `s`, 64 bytes, not DER */
  sign(input: Uint8Array): Promise<Uint8Array> | Uint8Array;
}

/**
 * One of
 * - a PEM text (PKCS#8, SEC1 or PKCS#1, not encrypted), with its `kid` if the control plane knows several keys;
 * - a private JWK, with its own `kid` and `alg`;
 * - a signer.
 */
export type SigningKey =
  | { readonly pem: string; readonly kid?: string; readonly alg?: SigningAlgorithm }
  | { readonly jwk: Readonly<Record<string, unknown>> }
  | KeySigner;

/** Signs the claims of a JWT. Resolves to a compact JWS. */
export type SignJws = (claims: Readonly<Record<string, unknown>>) => Promise<string>;

/** What a library accepts as its key. */
interface AcceptedKeys {
  readonly algorithms: readonly SigningAlgorithm[];
  /** Whether a key without a `kid` is refused. */
  readonly needsKeyId: boolean;
}

/** The control plane's minimum for RSA keys (supplement "Agents"). */
const MIN_MODULUS_BITS = 2048;
/** The length of r and s for P-256 (RFC 7518 §3.4). */
const ES256_BYTES = 64;

/** Accepts a private key that can sign. A problem holds no part of the key. */
export function signingKey({ algorithms, needsKeyId }: AcceptedKeys): Check {
  const keyId = needsKeyId ? text : optional(text);
  const named = [algorithms.slice(0, -1).join(', '), algorithms.at(-1)].filter((part) => part).join(' or ');
  const isAccepted = (alg: unknown) => algorithms.some((each) => each === alg);
  const signer = membersOf({ alg: must(`be ${named}`, isAccepted), kid: keyId, sign: callable });
  const pem = optionsOf({ pem: text, kid: keyId, alg: optional(text) });
  const jwk = optionsOf({ jwk: membersOf({ kid: keyId, alg: optional(text) }) });
  const forms = needsKeyId ? '{ jwk }, { pem, kid } or { alg, kid, sign }' : '{ pem }, { jwk } or { alg, sign }';
  return (value, name) => {
    // Without this check, the runtime's error for a key that is passed as a bare string would quote the key.
    if (!isSigningKey(value)) return [problemOf(value, name) ?? `${name} must be ${forms}`];
    if ('sign' in value) return signer(value, name);
    const problems = 'pem' in value ? pem(value, name) : jwk(value, name);
    if (problems.length > 0) return problems;
    const loaded = loadKey(value, algorithms);
    return typeof loaded === 'string' ? [`${name} ${loaded}`] : [];
  };
}

/** @param key was accepted by a check of `signingKey` with the same algorithms @param typ the header of the JWTs */
export function jwsSigner(key: SigningKey, typ: string, algorithms: readonly SigningAlgorithm[]): SignJws {
  if ('sign' in key) return signedBy(key, typ);
  const loaded = loadKey(key, algorithms);
  if (typeof loaded === 'string') throw new TypeError(`key ${loaded}.`);
  const { kid } = 'pem' in key ? key : { kid: textOf(key.jwk.kid) };
  const header = { alg: loaded.alg, typ, ...(kid !== undefined && { kid }) };
  return (claims) => new SignJWT(claims).setProtectedHeader(header).sign(loaded.key);
}

function signedBy(signer: KeySigner, typ: string): SignJws {
  const { alg, kid } = signer;
  const header = encode({ alg, typ, ...(kid !== undefined && { kid }) });
  return async (claims) => {
    const input = `${header}.${encode(claims)}`;
    const signature = await signer.sign(new TextEncoder().encode(input));
    if (alg === 'ES256' && signature.length !== ES256_BYTES) {
      throw new TypeError('The signer must give r and s of ES256, 64 bytes, and not DER.');
    }
    return `${input}.${Buffer.from(signature).toString('base64url')}`;
  };
}

function isSigningKey(key: unknown): key is SigningKey {
  if (typeof key !== 'object' || key === null) return false;
  const { sign, pem, jwk } = key as Readonly<Record<string, unknown>>;
  return typeof sign === 'function' || typeof pem === 'string' || (typeof jwk === 'object' && jwk !== null);
}

/** The problem of a form that is told by its member; `undefined` if the value has none of the forms. */
function problemOf(value: unknown, name: string): string | undefined {
  const { sign, pem, jwk } = (value ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof jwk === 'string') return `${name}.jwk must be an object, and is a text: parse it with JSON.parse`;
  if (pem instanceof Uint8Array)
    return `${name}.pem must be a text, and holds bytes: read the file with the encoding utf8`;
  if (pem !== undefined) return `${name}.pem must be a text`;
  return sign === undefined ? undefined : `${name}.sign must be a function`;
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** The key and its algorithm; or what is wrong with the key, worded to follow its name. */
function loadKey(
  given: Exclude<SigningKey, KeySigner>,
  algorithms: readonly SigningAlgorithm[],
): { readonly key: KeyObject; readonly alg: SigningAlgorithm } | string {
  const [key, named] = 'pem' in given ? [fromPem(given.pem), given.alg] : [fromJwk(given.jwk), textOf(given.jwk.alg)];
  if (typeof key === 'string') return key;
  const isP256 = key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1';
  const isRsa = key.asymmetricKeyType === 'rsa' && (key.asymmetricKeyDetails?.modulusLength ?? 0) >= MIN_MODULUS_BITS;
  const ofKey: readonly SigningAlgorithm[] = isP256 ? ['ES256'] : isRsa ? ['PS256', 'RS256'] : [];
  const fitting = ofKey.filter((each) => algorithms.includes(each));
  const alg = named === undefined ? fitting[0] : fitting.find((each) => each === named);
  if (alg !== undefined) return { key, alg };
  const orRsa = algorithms.length > 1 ? ` or an RSA key of ${MIN_MODULUS_BITS} bits or more` : '';
  return `must be an EC key on P-256${orRsa}, used with its own alg`;
}

function fromPem(pem: string): KeyObject | string {
  try {
    return createPrivateKey(pem);
  } catch {
    // OpenSSL's error may quote the PEM text, so it is dropped.
    return 'must be a PEM text of a private key that is not encrypted: this text holds no private key';
  }
}

function fromJwk(jwk: Readonly<Record<string, unknown>>): KeyObject | string {
  try {
    return createPrivateKey({ key: { ...jwk }, format: 'jwk' });
  } catch {
    return 'must be a private JWK: this JWK is no private key';
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
