/** Opens a note of a log that an auditor brings: its tree, and the keys of a policy that signed it. */

import type { Hash } from '../../domain/ledger/merkle-tree.ts';
import { type BelievedKey, noteKey } from '../../domain/log/bundle-log.ts';
import type { BundlePolicy } from '../../domain/log/bundle-policy.ts';
import { parseTreeHead, type TreeHead } from '../../domain/log/checkpoint-note.ts';
import { openNote, parseNote, type VerifyEd25519 } from '../../domain/log/note.ts';
import { ED25519, parseVerifierKey } from '../../domain/log/verifier-key.ts';

export interface LogNote {
  readonly head: TreeHead;
  /** The keys of the policy whose signatures verified; `undefined` if no policy names keys of the log. */
  readonly keys: readonly BelievedKey[] | undefined;
}

export type UnusableNote =
  | { readonly kind: 'malformed' }
  /** A signature under the name and id of this key of the policy does not verify. */
  | { readonly kind: 'invalid_signature'; readonly name: string };

interface NoteOpening {
  readonly hash: Hash;
  readonly verify: VerifyEd25519;
  readonly policy: BundlePolicy | undefined;
}

export function openLogNote({ hash, verify, policy }: NoteOpening, text: string): LogNote | UnusableNote {
  const note = parseNote(text);
  const head = note && parseTreeHead(note.text);
  if (note === undefined || head === undefined) return { kind: 'malformed' };
  if (policy?.logKeys === undefined) return { head, keys: undefined };
  const keys = [...policy.logKeys, ...policy.witnesses].flatMap((vkey) => parseVerifierKey(hash, vkey) ?? []);
  const opened = openNote(note, keys, verify);
  if (opened.kind === 'invalid_signature') return opened;
  const signatures = opened.kind === 'verified' ? opened.signatures : [];
  // The name of a log's key is the origin of its log: a signature of another log vouches for no tree of this one.
  const own = signatures.filter(({ key }) => key.type !== ED25519 || key.name === head.origin);
  return { head, keys: own.map(({ key, seconds }) => noteKey(hash, key, seconds)) };
}
