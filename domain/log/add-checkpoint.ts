/** The body of a request `add-checkpoint` to a witness (C2SP tlog-witness v1.0.0). */

import { HASH_BYTES } from '../ledger/merkle-tree.ts';
import { parseSize } from './checkpoint-note.ts';
import { decodeBase64, encodeBase64 } from './verifier-key.ts';

export interface AddCheckpoint {
  /** The size of the log's newest checkpoint at the witness; 0 if it has none. */
  readonly oldSize: number;
  /** The proof that the tree of the note begins with the tree of the old size. */
  readonly proof: readonly Uint8Array[];
  /** The log's new checkpoint, as a signed note. */
  readonly note: string;
}

const MAX_PROOF_LINES = 63;
const OLD = 'old ';

export function formatAddCheckpoint({ oldSize, proof, note }: AddCheckpoint): string {
  return `${[`${OLD}${oldSize}`, ...proof.map(encodeBase64), '', note].join('\n')}`;
}

/** `undefined` if the text has another form. The note is not parsed. */
export function parseAddCheckpoint(text: string): AddCheckpoint | undefined {
  const end = text.indexOf('\n\n');
  const [old = '', ...lines] = text.slice(0, Math.max(end, 0)).split('\n', MAX_PROOF_LINES + 2);
  const oldSize = old.startsWith(OLD) ? parseSize(old.slice(OLD.length)) : undefined;
  const proof = lines.map(decodeBase64);
  const isProof = (hash: Uint8Array | undefined): hash is Uint8Array => hash?.length === HASH_BYTES;
  if (oldSize === undefined || proof.length > MAX_PROOF_LINES || !proof.every(isProof)) return undefined;
  return { oldSize, proof, note: text.slice(end + 2) };
}
