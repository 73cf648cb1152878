/** Converts between checkpoints (specification "Checkpoint") and rows of the `checkpoints` table. */

import type { Checkpoint } from '../../../domain/ledger/checkpoint.ts';
import { columnsOf, otherTables } from '../tables.ts';
import { type BindInstant, type Bound, type ReadRow, storable } from './column.ts';

export type CheckpointRow = ReadRow<typeof otherTables.checkpoints>;

/** Every column, in the order of the specification's table. */
export const checkpointColumns = columnsOf(otherTables.checkpoints);

/** The values of a checkpoint in the order of `checkpointColumns`. */
export function checkpointValues(checkpoint: Checkpoint, instant: BindInstant): readonly Bound[] {
  return [
    checkpoint.checkpointId,
    checkpoint.firstSeq,
    checkpoint.lastSeq,
    checkpoint.treeSize,
    checkpoint.rootHash,
    checkpoint.prevCheckpointHash ?? null,
    instant(checkpoint.closedAt),
    storable('kid', checkpoint.kid),
    checkpoint.signature,
  ];
}

export function toCheckpoint(row: CheckpointRow): Checkpoint {
  return {
    checkpointId: row.checkpoint_id,
    firstSeq: row.first_seq,
    lastSeq: row.last_seq,
    treeSize: row.tree_size,
    rootHash: row.root_hash,
    prevCheckpointHash: row.prev_checkpoint_hash ?? undefined,
    closedAt: row.closed_at,
    kid: row.kid,
    signature: row.signature,
  };
}
