/**
 * The strict reader of signed tokens (supplement "Client assertions"): it accepts a compact JWS (RFC 7515 §7.1) only
 * in its one canonical spelling. Every incoming token (assertion, subject, logout, event, our own) is read here before
 * the signature library sees it. The checked bytes are therefore the signed bytes. strict-json.ts parses header and
 * payload, and claims.ts gives the registered claims their types. The rules of each kind of token are in the folder of
 * its noun.
 */

import { decodeCanonical, MAX_KEY_ID } from './canonical-base64url.ts';
import { type Claims, readClaims } from './claims.ts';
import { isJsonObject, type JsonObject, member, parseStrictJson, withoutNulls } from './strict-json.ts';
import { readUtf8 } from './strict-utf8.ts';

/** The parts of any JWS, whatever its payload. */
export interface JwsEnvelope {
  /** The token as it was sent. */
  readonly text: string;
  readonly algorithm: string;
  readonly keyId: string | undefined;
  readonly type: string | undefined;
}

export interface CompactJws extends JwsEnvelope {
  /** Untrusted until the signature has been verified. */
  readonly claims: Claims;
}

/** Header, payload, signature; each non-empty. */
const SEGMENTS = 3;

/** The token's parts; `undefined` if it is malformed in any way. */
export function readCompactJws(text: string): CompactJws | undefined {
  return readClaimsSet(text, readObject);
}

/**
 * Like {@link readCompactJws}, for a token of a provider: a null member of the header or the claims is an absent one, and
 * `Ed25519` is `EdDSA` (supplement "Subject tokens").
 */
export function readProviderJws(text: string): CompactJws | undefined {
  const jws = readClaimsSet(text, (bytes) => {
    const object = readObject(bytes);
    return object === undefined ? undefined : withoutNulls(object);
  });
  return jws === undefined ? undefined : { ...jws, algorithm: commonAlgorithm(jws.algorithm) };
}

/** RFC 9864 §2.2: `Ed25519` is `EdDSA` on that curve, which is the only one that keys for `EdDSA` have here. */
export function commonAlgorithm(name: string): string {
  return name === 'Ed25519' ? 'EdDSA' : name;
}

type ReadObject = (bytes: Uint8Array) => JsonObject | undefined;

function readClaimsSet(text: string, read: ReadObject): CompactJws | undefined {
  const envelope = readJwsEnvelope(text, read);
  if (envelope === undefined) return undefined;
  const { algorithm, keyId, type, payload } = envelope;
  const json = read(payload);
  const claims = json && readClaims(json);
  return claims && { text, algorithm, keyId, type, claims };
}

/** Like {@link readCompactJws}, for a JWS whose payload need not be a claims set. */
export function readJwsEnvelope(
  text: string,
  read: ReadObject = readObject,
): (JwsEnvelope & { readonly payload: Uint8Array }) | undefined {
  const segments = text.split('.', SEGMENTS + 1);
  if (segments.length !== SEGMENTS) return undefined;
  const [headerBytes, payload, signature] = segments.map(decodeCanonical);
  if (headerBytes === undefined || payload === undefined || signature === undefined) return undefined;
  const header = read(headerBytes);
  if (header === undefined) return undefined;
  // RFC 7515 §4.1.11: `crit` names extensions that must be understood; this service supports none. RFC 7797's b64
  // would change the signed bytes.
  if (Object.hasOwn(header, 'crit') || Object.hasOwn(header, 'b64')) return undefined;
  const algorithm = member(header, 'alg');
  const keyId = member(header, 'kid');
  const type = member(header, 'typ');
  if (typeof algorithm !== 'string') return undefined;
  if (keyId !== undefined && (typeof keyId !== 'string' || keyId.length > MAX_KEY_ID)) return undefined;
  if (type !== undefined && typeof type !== 'string') return undefined;
  return { text, algorithm, keyId, type, payload };
}

/** Whether `typ` is one of the accepted media types (RFC 7515 §4.1.9: any case, `application/` may be left out). */
export function hasType(jws: CompactJws, accepted: readonly string[]): boolean {
  const type = jws.type?.toLowerCase().replace(/^application\//, '');
  return type !== undefined && accepted.includes(type);
}

function readObject(bytes: Uint8Array): JsonObject | undefined {
  const text = readUtf8(bytes);
  const value = text === undefined ? undefined : parseStrictJson(text);
  return isJsonObject(value) ? value : undefined;
}

/** Seconds: the accepted difference between two correct clocks (supplement "Client assertions", "Subject tokens"). */
export const CLOCK_SKEW_SECONDS = 60;

/**
 * The most that a tool server can be set to allow. Each second of it extends the life of an expired token, so a clock that is
 * further off must be corrected.
 */
export const MAX_CLOCK_SKEW_SECONDS = 300;
