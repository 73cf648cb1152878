/** The key that signs an agent's client assertions: a private key or an external signer (RFC 7523 §2.2). */

import { createPrivateKey, type KeyObject } from 'node:crypto';
import { SignJWT } from 'jose';
import { type Check, callable, membersOf, must, optional, optionsOf, text } from '../arguments.ts';

/** The algorithms that the control plane accepts (supplement "Client assertions"). */
export type AssertionAlgorithm = 'ES256' | 'PS256' | 'RS256';

const ALGORITHMS: readonly string[] = ['ES256', 'PS256', 'RS256'];

/** Signs with a key that this process cannot read: one in a KMS, an HSM or another process. */
export interface KeySigner {
  readonly alg: AssertionAlgorithm;
  readonly kid?: string;
  /** @returns the signature in the form of RFC 7518: for ES256 `r` and `s`, 64 bytes, not DER */
  sign(input: Uint8Array): Promise<Uint8Array> | Uint8Array;
}

/**
 * One of
 * - a PEM text (PKCS#8, SEC1 or PKCS#1, not encrypted), with its `kid` if the registration has several keys;
 * - a private JWK, with its own `kid` and `alg`;
 * - a signer.
 */
export type AgentKey =
  | { readonly pem: string; readonly kid?: string; readonly alg?: AssertionAlgorithm }
  | { readonly jwk: Readonly<Record<string, unknown>> }
  | KeySigner;

/** Signs the claims of an assertion. Resolves to a compact JWS. */
export type SignAssertion = (claims: Readonly<Record<string, string | number>>) => Promise<string>;

/** The control plane's minimum for RSA keys (supplement "Agents"). */
const MIN_MODULUS_BITS = 2048;
/** The length of r and s for P-256 (RFC 7518 §3.4). */
const ES256_BYTES = 64;

const SIGNER = membersOf({
  alg: must(`be ${ALGORITHMS.slice(0, -1).join(', ')} or ${ALGORITHMS.at(-1)}`, isAlgorithm),
  kid: optional(text),
  sign: callable,
});
const PEM = optionsOf({ pem: text, kid: optional(text), alg: optional(text) });
const JWK = optionsOf({ jwk: membersOf({ kid: optional(text), alg: optional(text) }) });

/** Accepts a private key that can sign assertions. A problem holds no part of the key. */
export const agentKey: Check = (value, name) => {
  // Without this check, the runtime's error for a key that is passed as a bare string would quote the key.
  if (!isAgentKey(value)) return [`${name} must be { pem }, { jwk } or { alg, sign }`];
  if ('sign' in value) return SIGNER(value, name);
  const problems = 'pem' in value ? PEM(value, name) : JWK(value, name);
  if (problems.length > 0) return problems;
  const loaded = loadKey(value);
  return typeof loaded === 'string' ? [`${name} ${loaded}`] : [];
};

/** @param key was accepted by `agentKey` */
export function assertionSigner(key: AgentKey): SignAssertion {
  if ('sign' in key) return signedBy(key);
  const loaded = loadKey(key);
  if (typeof loaded === 'string') throw new TypeError(`key ${loaded}.`);
  const { kid } = 'pem' in key ? key : { kid: textOf(key.jwk.kid) };
  const header = { alg: loaded.alg, typ: 'JWT', ...(kid !== undefined && { kid }) };
  return (claims) => new SignJWT(claims).setProtectedHeader(header).sign(loaded.key);
}

function signedBy(signer: KeySigner): SignAssertion {
  const { alg, kid } = signer;
  const header = encode({ alg, typ: 'JWT', ...(kid !== undefined && { kid }) });
  return async (claims) => {
    const input = `${header}.${encode(claims)}`;
    const signature = await signer.sign(new TextEncoder().encode(input));
    if (alg === 'ES256' && signature.length !== ES256_BYTES) {
      throw new TypeError('The signer must give r and s of ES256, 64 bytes, and not DER.');
    }
    return `${input}.${Buffer.from(signature).toString('base64url')}`;
  };
}

function isAlgorithm(value: unknown): value is AssertionAlgorithm {
  return typeof value === 'string' && ALGORITHMS.includes(value);
}

function isAgentKey(key: unknown): key is AgentKey {
  if (typeof key !== 'object' || key === null) return false;
  const { sign, pem, jwk } = key as Readonly<Record<string, unknown>>;
  return typeof sign === 'function' || typeof pem === 'string' || (typeof jwk === 'object' && jwk !== null);
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** The key and its algorithm; or what is wrong with the key, worded to follow its name. */
function loadKey(
  given: Exclude<AgentKey, KeySigner>,
): { readonly key: KeyObject; readonly alg: AssertionAlgorithm } | string {
  const [key, named] = 'pem' in given ? [fromPem(given.pem), given.alg] : [fromJwk(given.jwk), textOf(given.jwk.alg)];
  if (typeof key === 'string') return key;
  const isP256 = key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1';
  const fitting: readonly AssertionAlgorithm[] = isP256
    ? ['ES256']
    : key.asymmetricKeyType === 'rsa' && (key.asymmetricKeyDetails?.modulusLength ?? 0) >= MIN_MODULUS_BITS
      ? ['PS256', 'RS256']
      : [];
  const alg = named === undefined ? fitting[0] : fitting.find((each) => each === named);
  return alg === undefined
    ? `must be an EC key on P-256 or an RSA key of ${MIN_MODULUS_BITS} bits or more, used with its own alg`
    : { key, alg };
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
