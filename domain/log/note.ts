/**
 * Signed notes (C2SP signed-note): a text, an empty line, and a line for each signature.
 *
 * The transparency log is a tree of all checkpoints of the ledger (log-entry.ts). It grows by leaves
 * (growing-tree.ts), is stored in tiles (tiles.ts), and its size and root are the text of a signed note
 * (checkpoint-note.ts). Keys are verifier keys (verifier-key.ts). Witnesses get a request (add-checkpoint.ts) and add
 * cosignatures (cosignature.ts). tree-proofs.ts proves that a leaf is in the tree, and that a tree only grew.
 * bundle.ts, bundle-policy.ts and bundle-verification.ts have the evidence for others: records with all proofs up to a
 * note.
 */

import { cosignedText, decodeCosignature } from './cosignature.ts';
import { COSIGNATURE, decodeBase64, encodeBase64, isKeyName, type VerifierKey } from './verifier-key.ts';

export interface NoteSignature {
  /** The name of the key. */
  readonly name: string;
  /** 8 lowercase hex digits. */
  readonly keyId: string;
  readonly signature: Uint8Array;
}

export interface Note {
  /** With its last newline. */
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
}

/** Whether the signature (64 bytes) over the message is the public key's (Ed25519, RFC 8032). */
export type VerifyEd25519 = (publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array) => boolean;

/** Limits of Go's reader of notes: a larger note would not verify there. */
const MAX_SIGNATURES = 100;
const MAX_LENGTH = 1_000_000;

/** Every reader accepts at least 16 signatures. The first one is the log's. */
export const MAX_WITNESSES = 15;

const SIGNATURE_LINE = /^\u2014 ([^ ]+) ([A-Za-z0-9+/=]+)$/u;
const KEY_ID_BYTES = 4;
/** Control characters below U+0020, except newline. */
const CONTROL = /[^\P{Cc}\n\x7F-\x9F]/u;

/** `undefined` if the text is not a note. Whether it is signed is decided by `openNote`. */
export function parseNote(note: string): Note | undefined {
  if (note.length > MAX_LENGTH || !note.isWellFormed() || CONTROL.test(note) || !note.endsWith('\n')) return undefined;
  const split = note.lastIndexOf('\n\n');
  if (split === -1) return undefined;
  const signatures = parseSignatureLines(note.slice(split + 2));
  return signatures && { text: note.slice(0, split + 1), signatures };
}

/** One or more signature lines, each with its newline; at most 100. */
export function parseSignatureLines(text: string): readonly NoteSignature[] | undefined {
  if (!text.endsWith('\n')) return undefined;
  const lines = text.slice(0, -1).split('\n', MAX_SIGNATURES + 1);
  if (lines.length > MAX_SIGNATURES) return undefined;
  const signatures = lines.map(parseSignatureLine);
  return signatures.every((signature) => signature !== undefined) ? signatures : undefined;
}

function parseSignatureLine(line: string): NoteSignature | undefined {
  const [, name = '', encoded = ''] = SIGNATURE_LINE.exec(line) ?? [];
  const bytes = decodeBase64(encoded);
  if (!isKeyName(name) || bytes === undefined || bytes.length <= KEY_ID_BYTES) return undefined;
  const keyId = Buffer.from(bytes.subarray(0, KEY_ID_BYTES)).toString('hex');
  return { name, keyId, signature: bytes.subarray(KEY_ID_BYTES) };
}

/** With its newline. */
export function formatSignatureLine({ name, keyId, signature }: NoteSignature): string {
  return `\u2014 ${name} ${encodeBase64(Buffer.concat([Buffer.from(keyId, 'hex'), signature]))}\n`;
}

export function formatNote({ text, signatures }: Note): string {
  return `${text}\n${signatures.map(formatSignatureLine).join('')}`;
}

/** The signed bytes of a note's signature, and the 64 bytes of the signature. */
interface SignedInput {
  readonly message: Uint8Array;
  readonly signature: Uint8Array;
  /** When a cosignature was made, in seconds since 1970; `undefined` for another signature. */
  readonly seconds?: number;
}

/** `undefined` if the signature does not have the form of the key's type. */
function signedInput(text: string, key: VerifierKey, signature: Uint8Array): SignedInput | undefined {
  if (key.type !== COSIGNATURE) return { message: Buffer.from(text), signature };
  const cosignature = decodeCosignature(signature);
  return cosignature && { message: Buffer.from(cosignedText(cosignature.seconds, text)), ...cosignature };
}

export interface VerifiedSignature extends NoteSignature {
  readonly key: VerifierKey;
  /** When a cosignature was made, in seconds since 1970. */
  readonly seconds?: number;
}

type OpenedNote =
  /** The signatures of known keys, one for each key, in the order of the note. */
  | { readonly kind: 'verified'; readonly signatures: readonly VerifiedSignature[] }
  /** No signature is of a known key. */
  | { readonly kind: 'unknown_keys' }
  /** A signature names a known key and does not verify: nothing of the note is to be trusted. */
  | { readonly kind: 'invalid_signature'; readonly name: string };

/** Verifies the signatures of known keys, and ignores those of other keys (C2SP signed-note, "Signatures"). */
export function openNote(note: Note, keys: readonly VerifierKey[], verify: VerifyEd25519): OpenedNote {
  const verified = new Map<VerifierKey, VerifiedSignature>();
  for (const signature of note.signatures) {
    const key = keys.find(({ name, keyId }) => name === signature.name && keyId === signature.keyId);
    if (key === undefined || verified.has(key)) continue;
    const input = signedInput(note.text, key, signature.signature);
    if (input === undefined || !verify(key.publicKey, input.message, input.signature)) {
      return { kind: 'invalid_signature', name: key.name };
    }
    verified.set(key, { ...signature, key, ...(input.seconds !== undefined && { seconds: input.seconds }) });
  }
  return verified.size === 0 ? { kind: 'unknown_keys' } : { kind: 'verified', signatures: [...verified.values()] };
}
