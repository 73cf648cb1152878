/** Converts between checkpoints (specification "Checkpoint") and rows of the `checkpoints` table. */

import type { Instant } from '../../../domain/instant.ts';
import type { Checkpoint } from '../../../domain/ledger/checkpoint.ts';
import { type BindInstant, type Bound, storable } from './column.ts';

export interface CheckpointRow {
  readonly checkpoint_id: number;
  readonly first_seq: number;
  readonly last_seq: number;
  readonly tree_size: number;
  readonly root_hash: string;
  readonly prev_checkpoint_hash: string | null;
  readonly closed_at: Instant;
  readonly kid: string;
  readonly signature: string;
}

/** Every column, in the order of the specification's table. */
export const checkpointColumns = [
  'checkpoint_id',
  'first_seq',
  'last_seq',
  'tree_size',
  'root_hash',
  'prev_checkpoint_hash',
  'closed_at',
  'kid',
  'signature',
] as const satisfies readonly (keyof CheckpointRow)[];

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
