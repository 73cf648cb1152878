/**
 * A witness's decision about one request `add-checkpoint` (C2SP tlog-witness v1.0.0): it cosigns a checkpoint if the log
 * only grew since the last one that it cosigned. It never cosigns two checkpoints of a log that contradict each other.
 */

import type { Hash } from '../../domain/ledger/merkle-tree.ts';
import { type AddCheckpoint, parseAddCheckpoint } from '../../domain/log/add-checkpoint.ts';
import { parseTreeHead, type TreeHead } from '../../domain/log/checkpoint-note.ts';
import { cosignedText, encodeCosignature } from '../../domain/log/cosignature.ts';
import {
  formatNote,
  formatSignatureLine,
  type NoteSignature,
  openNote,
  parseNote,
  type VerifyEd25519,
} from '../../domain/log/note.ts';
import { provesConsistency } from '../../domain/log/tree-proofs.ts';
import { encodeBase64, type VerifierKey } from '../../domain/log/verifier-key.ts';
import type { NoteSigner } from '../ports/keys.ts';
import type { WitnessedCheckpoint, WitnessedLogs } from '../ports/witnessed-logs.ts';
import type { WitnessClock } from './witness-clock.ts';

export interface Witness {
  readonly logs: WitnessedLogs;
  /** The keys of the watched logs. The name of a key is the origin of its log. */
  readonly logKeys: readonly VerifierKey[];
  /** Its key is for cosignatures. */
  readonly signer: NoteSigner;
  readonly verify: VerifyEd25519;
  readonly hash: Hash;
  readonly clock: Pick<WitnessClock, 'secondsAfter'>;
}

export type CosignOutcome =
  | Cosigned
  | { readonly kind: 'malformed' | 'unknown_log' | 'untrusted_signature' | 'old_size_above_new' }
  /** The witness must not date a cosignature now. */
  | { readonly kind: 'wrong_clock' }
  /** @property size that of the newest checkpoint that was cosigned */
  | { readonly kind: 'other_old_size'; readonly size: number }
  | RefusedHead;

export interface Cosigned extends Pick<TreeHead, 'origin' | 'size'> {
  readonly kind: 'cosigned';
  /** The cosignature, as a signature line of a note. */
  readonly line: string;
  /** The checkpoint with the signatures of the log, and this cosignature. */
  readonly note: string;
  /** Whether this witness cosigned no checkpoint of this size before. */
  readonly isNew: boolean;
}

/**
 * The log has signed a checkpoint with another root than the newest cosigned one, or without a proof that it continues
 * that checkpoint.
 */
export interface RefusedHead extends Pick<TreeHead, 'origin' | 'size' | 'root'> {
  readonly kind: 'other_root' | 'inconsistent';
  /** The checkpoint with the signatures of the log only. Any client can add other lines to a note. */
  readonly note: string;
  readonly newest: WitnessedCheckpoint | undefined;
}

/** A checkpoint that a key of its log has signed. */
interface SignedHead extends TreeHead {
  readonly text: string;
  /** The signatures by keys of the log. All of them have verified. */
  readonly signatures: readonly NoteSignature[];
}

export async function cosignCheckpoint(witness: Witness, body: string): Promise<CosignOutcome> {
  // 1. The request, and the log's signature.
  const request = parseAddCheckpoint(body);
  const opened = request && openHead(witness, request.note);
  if (request === undefined || opened === undefined) return { kind: 'malformed' };
  if ('kind' in opened) return opened;
  if (request.oldSize > opened.size) return { kind: 'old_size_above_new' };

  for (;;) {
    // 2. The newest checkpoint that this witness cosigned.
    const newest = await witness.logs.newest(opened.origin);
    const refusal = judge(witness, request, opened, newest);
    if (refusal !== undefined) return refusal;

    // 3. The cosignature, which is sent only after it was stored. Of concurrent requests the first one wins.
    const seconds = witness.clock.secondsAfter(newest?.seconds);
    if (seconds === undefined) return { kind: 'wrong_clock' };
    const { line, next } = cosign(witness, opened, seconds);
    if ((await witness.logs.replace(newest, next)) === 'overtaken') continue;
    const { origin, size, note } = next;
    return { kind: 'cosigned', line, origin, size, note, isNew: size !== newest?.size };
  }
}

function openHead({ logKeys, verify }: Witness, text: string): SignedHead | CosignOutcome | undefined {
  const note = parseNote(text);
  const head = note && parseTreeHead(note.text);
  if (note === undefined || head === undefined) return undefined;
  const keys = logKeys.filter(({ name }) => name === head.origin);
  if (keys.length === 0) return { kind: 'unknown_log' };
  const opened = openNote(note, keys, verify);
  if (opened.kind !== 'verified') return { kind: 'untrusted_signature' };
  return { ...head, text: note.text, signatures: opened.signatures };
}

/** Why this witness does not cosign the checkpoint; `undefined` if it does. */
function judge(
  { hash }: Witness,
  { oldSize, proof }: AddCheckpoint,
  head: SignedHead,
  newest: WitnessedCheckpoint | undefined,
): CosignOutcome | undefined {
  const { origin, size, root } = head;
  const known = newest?.size ?? 0;
  if (oldSize !== known) return { kind: 'other_old_size', size: known };
  const emptyRoot = hash(new Uint8Array());
  const oldRoot = newest === undefined ? emptyRoot : Buffer.from(newest.root, 'base64');
  const refused = { origin, size, root, newest, note: formatNote(head) };
  if (size === oldSize && Buffer.compare(root, oldRoot) !== 0) return { kind: 'other_root', ...refused };
  if (provesConsistency(hash, { oldSize, oldRoot, size, root, path: proof })) return undefined;
  return { kind: 'inconsistent', ...refused };
}

function cosign({ signer }: Witness, head: SignedHead, seconds: number) {
  const signature = encodeCosignature({
    seconds,
    signature: signer.sign(Buffer.from(cosignedText(seconds, head.text))),
  });
  const { name, keyId } = signer.key;
  const cosignature = { name, keyId, signature };
  const note = formatNote({ ...head, signatures: [...head.signatures, cosignature] });
  const next = { origin: head.origin, size: head.size, root: encodeBase64(head.root), seconds, note };
  return { line: formatSignatureLine(cosignature), next };
}
