/** A reader of the transparency log that shares no code with it: notes, tiles and proofs by the words of their texts. */

import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, verify } from 'node:crypto';

export const sha256 = (...parts: readonly Uint8Array[]) => createHash('sha256').update(Buffer.concat(parts)).digest();

export const hashLeaf = (entry: Uint8Array) => sha256(Buffer.of(0), entry);

/** The settings of a new key of the log. */
export function logKeySettings(): Readonly<Record<string, string>> {
  return { 'Service:Audit:Log:Key:Pem': pemOf(generateKeyPairSync('ed25519').privateKey) };
}

export function pemOf(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** The fields of a note whose first signature is made by the verifier key. @throws if it is not */
export function readNote(note: string, vkey: string) {
  const [text = '', lines = ''] = note.split('\n\n');
  const [origin = '', size = '', root = ''] = text.split('\n');
  const [line = '', ...cosignatures] = lines.trimEnd().split('\n');
  const [, name = '', encoded = ''] = /^— (\S+) (\S+)$/.exec(line) ?? [];
  const signature = Buffer.from(encoded, 'base64');
  const [, keyName, keyId, keyText = ''] = /^(.+?)\+([0-9a-f]{8})\+(.+)$/.exec(vkey) ?? [];
  const typed = Buffer.from(keyText, 'base64');
  if (name !== keyName || signature.subarray(0, 4).toString('hex') !== keyId) throw new Error('another key');
  const key = createPublicKey({
    key: { kty: 'OKP', crv: 'Ed25519', x: typed.subarray(1).toString('base64url') },
    format: 'jwk',
  });
  if (!verify(null, Buffer.from(`${text}\n`), key, signature.subarray(4))) throw new Error('a wrong signature');
  return { origin, size: Number(size), root: Buffer.from(root, 'base64'), cosignatures };
}
