/** Verifier keys, the text form of a public key that verifies notes (C2SP signed-note, "Verifier keys"). */

import type { Hash } from '../ledger/merkle-tree.ts';

/** The types of C2SP signed-note, "Signature types", that this service makes and verifies. */
export const ED25519 = 0x01;
export const COSIGNATURE = 0x04;
export type SignatureType = typeof ED25519 | typeof COSIGNATURE;

export interface VerifierKey {
  readonly name: string;
  /** 8 lowercase hex digits. The name and the id together select the key of a signature. */
  readonly keyId: string;
  readonly type: SignatureType;
  /** 32 bytes (RFC 8032 §5.1.5). */
  readonly publicKey: Uint8Array;
}

const KEY_BYTES = 32;
/** `<name>+<id>+<base64 of the type and the public key>`. */
const VERIFIER_KEY = /^([^+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]{44})$/;
const NOT_IN_NAME = /[\p{White_Space}\p{Cc}+]/u;
const FORMAT = /\p{Cf}/u;

/** C2SP signed-note: not empty, no Unicode space, no plus, no control character. The name of any signature in a note. */
export function isKeyName(text: string): boolean {
  return text !== '' && text.isWellFormed() && !NOT_IN_NAME.test(text);
}

/**
 * The name of a log or witness that is made or trusted here (supplement "Sizes and forms nobody wrote down"). Two names that
 * differ by format characters, such as a zero-width space or a bidirectional control, look alike.
 */
export function isTrustableName(text: string): boolean {
  return isKeyName(text) && !holdsFormatCharacter(text);
}

export function holdsFormatCharacter(text: string): boolean {
  return FORMAT.test(text);
}

export function makeVerifierKey(hash: Hash, name: string, type: SignatureType, publicKey: Uint8Array): VerifierKey {
  const id = hash(Buffer.concat([Buffer.from(`${name}\n`), Uint8Array.of(type), publicKey])).subarray(0, 4);
  return { name, keyId: Buffer.from(id).toString('hex'), type, publicKey };
}

/** `undefined` if the text is malformed, its type is unknown, or its id is not that of its name, type and key. */
export function parseVerifierKey(hash: Hash, text: string): VerifierKey | undefined {
  const [, name = '', keyId, encoded = ''] = VERIFIER_KEY.exec(text) ?? [];
  const bytes = decodeBase64(encoded);
  const type = bytes?.[0];
  if (!isTrustableName(name) || bytes?.length !== 1 + KEY_BYTES || (type !== ED25519 && type !== COSIGNATURE))
    return undefined;
  const key = makeVerifierKey(hash, name, type, bytes.subarray(1));
  return key.keyId === keyId ? key : undefined;
}

export function formatVerifierKey({ name, keyId, type, publicKey }: VerifierKey): string {
  return `${name}+${keyId}+${encodeBase64(Buffer.concat([Uint8Array.of(type), publicKey]))}`;
}

/** Standard base64 with padding (RFC 4648 §4). */
export function encodeBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

/** `undefined` unless the text is the one that `encodeBase64` makes: each value has a single valid text. */
export function decodeBase64(text: string): Uint8Array | undefined {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}
