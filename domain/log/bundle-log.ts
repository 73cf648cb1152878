/** The line of a bundle about the log: the note of its tree, signed by the log and by witnesses. */

import type { Hash } from '../ledger/merkle-tree.ts';
import { type BundleLog, thumbprintOf } from './bundle.ts';
import { Refused } from './bundle-fault.ts';
import { parseTreeHead, type TreeHead } from './checkpoint-note.ts';
import { formatNote, openNote, parseNote, type VerifyEd25519 } from './note.ts';
import { COSIGNATURE, ED25519, formatVerifierKey, parseVerifierKey, type VerifierKey } from './verifier-key.ts';

/** A key that verified a part of a bundle. */
export interface BelievedKey {
  readonly use: 'checkpoint' | 'log' | 'witness';
  /** The key id of a checkpoint, or the name of a log or a witness. */
  readonly name: string;
  /** RFC 7638. */
  readonly thumbprint: string;
  /** The first checkpoint that it signed. */
  readonly checkpoint?: number | undefined;
  /** The verifier key of a log or a witness. */
  readonly vkey: string | undefined;
  /** When the witness signed, in seconds since 1970. */
  readonly seconds: number | undefined;
}

/** Verifies the note of the log. @returns its tree, and the keys that signed it @throws Refused */
export function verifyBundleLog(
  { hash, verifyEd25519 }: { readonly hash: Hash; readonly verifyEd25519: VerifyEd25519 },
  log: BundleLog,
): { readonly tree: TreeHead; readonly keys: readonly BelievedKey[] } {
  const note = parseNote(log.note);
  const tree = note && parseTreeHead(note.text);
  if (note === undefined || tree === undefined || formatNote(note) !== log.note) {
    throw new Refused('log_note', 'The note is not the checkpoint of a log.');
  }
  const keys = log.keys.map((text) => parseVerifierKey(hash, text));
  if (!areNoteKeys(keys, tree)) {
    throw new Refused('log_note', "The keys are not the log's, under the name of its origin, and those of witnesses.");
  }
  const opened = openNote(note, keys, verifyEd25519);
  if (opened.kind !== 'verified' || opened.signatures.length !== keys.length) {
    throw new Refused('log_note', 'A signature of the note is not of the key that the bundle names for it.');
  }
  const believed: BelievedKey[] = [];
  for (const [index, { key, seconds }] of opened.signatures.entries()) {
    // The n-th signature is of the n-th key, so that no signature and no key is left over.
    if (key !== keys[index] || note.signatures.length !== keys.length) {
      throw new Refused('log_note', 'The signatures of the note are not those of the keys, in the order of the keys.');
    }
    believed.push(noteKey(hash, key, seconds));
  }
  return { tree, keys: believed };
}

/** The key of a verified signature of a note. @param seconds those of a cosignature */
export function noteKey(hash: Hash, key: VerifierKey, seconds: number | undefined): BelievedKey {
  const x = Buffer.from(key.publicKey).toString('base64url');
  return {
    use: key.type === ED25519 ? 'log' : 'witness',
    name: key.name,
    thumbprint: thumbprintOf(hash, { crv: 'Ed25519', kty: 'OKP', x }),
    vkey: formatVerifierKey(key),
    seconds,
  };
}

/** One key of the log, whose name is the origin (C2SP tlog-checkpoint), then those of witnesses. */
function areNoteKeys(keys: readonly (VerifierKey | undefined)[], { origin }: TreeHead): keys is readonly VerifierKey[] {
  return (
    keys.length > 0 &&
    keys.every((key, index) => key?.type === (index === 0 ? ED25519 : COSIGNATURE)) &&
    keys[0]?.name === origin
  );
}
