/** Whether a checkpoint sealed a record at an index (specification "Inclusion proof"). */

import { canonicalRecord } from './canonical-json.ts';
import { type Checkpoint, toHex } from './checkpoint.ts';
import { foldPath, type Hash, leafHash } from './merkle-tree.ts';
import type { LedgerRecord } from './record.ts';

export interface InclusionClaim {
  readonly checkpoint: Checkpoint;
  readonly index: number;
  readonly path: readonly Uint8Array[];
}

/** The checkpoint's signature is not verified here. */
export function inclusionFault(
  hash: Hash,
  record: LedgerRecord,
  { checkpoint, index, path }: InclusionClaim,
): 'other_checkpoint' | 'other_place' | 'root_mismatch' | undefined {
  if (!isIn(checkpoint, record)) return 'other_checkpoint';
  if (!hasRoomBeside(checkpoint, record.seq, index)) return 'other_place';
  const leaf = leafHash(hash, canonicalRecord(record));
  const root = foldPath(hash, { leaf, index, size: checkpoint.treeSize, path });
  return root !== undefined && toHex(root) === checkpoint.rootHash ? undefined : 'root_mismatch';
}

/** A record that was read before it was sealed, as a sink gets it, names no checkpoint. Its `seq` alone decides. */
export function isIn(
  { checkpointId, firstSeq, lastSeq }: Checkpoint,
  { seq, checkpoint = checkpointId }: LedgerRecord,
): boolean {
  return seq >= firstSeq && seq <= lastSeq && checkpoint === checkpointId;
}

/**
 * The checkpoint seals a record's index, not its `seq`. The range must have room for the leaves before and after it. If
 * the range has no gaps, exactly one `seq` fits. Beside a gap several may fit.
 */
function hasRoomBeside({ firstSeq, lastSeq, treeSize }: Checkpoint, seq: number, index: number): boolean {
  return seq - firstSeq >= index && lastSeq - seq >= treeSize - 1 - index;
}
