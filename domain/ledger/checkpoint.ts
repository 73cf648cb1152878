/** A checkpoint: one sealed range of the ledger (specification "Checkpoint", "Ledger and seal"). */

import { toMillisecondText } from '../instant.ts';
import { canonicalCheckpoint, type UnsignedCheckpoint } from './canonical-json.ts';
import type { Hash } from './merkle-tree.ts';

export interface Checkpoint extends UnsignedCheckpoint {
  /** ES256 (r and s, 64 bytes) over the canonical JSON of the other members, in lowercase hex. */
  readonly signature: string;
}

/** Auditors keep marks of checkpoints, to check later that they have not changed (specification "Ledger and seal"). */
export interface Mark {
  readonly checkpointId: number;
  readonly rootHash: string;
}

const MARK = /^([1-9]\d{0,15}):([0-9a-f]{64})$/;

/** `checkpoint_id:root`; the root in lowercase hex. */
export function formatMark({ checkpointId, rootHash }: Mark): string {
  return `${checkpointId}:${rootHash}`;
}

export function parseMark(text: string): Mark | undefined {
  const [, id, rootHash = ''] = MARK.exec(text) ?? [];
  const checkpointId = Number(id);
  return Number.isSafeInteger(checkpointId) ? { checkpointId, rootHash } : undefined;
}

/** The next checkpoint's link: SHA-256 of this checkpoint's signed bytes, in lowercase hex. */
export function checkpointHash(hash: Hash, checkpoint: UnsignedCheckpoint): string {
  return toHex(hash(Buffer.from(canonicalCheckpoint(checkpoint), 'latin1')));
}

/** Hashes are published and signed as lowercase hex. */
export function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex');
}

/** A checkpoint as JSON (`GET /audit/checkpoints`, a proof), in the order of the specification's table. */
export function presentCheckpoint(checkpoint: Checkpoint): Record<string, unknown> {
  return {
    checkpoint_id: checkpoint.checkpointId,
    first_seq: checkpoint.firstSeq,
    last_seq: checkpoint.lastSeq,
    tree_size: checkpoint.treeSize,
    root_hash: checkpoint.rootHash,
    prev_checkpoint_hash: checkpoint.prevCheckpointHash ?? null,
    closed_at: toMillisecondText(checkpoint.closedAt),
    kid: checkpoint.kid,
    signature: checkpoint.signature,
  };
}
