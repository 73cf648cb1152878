/** Rows of the `checkpoints` table, and the checkpoints that they hold (specification "Checkpoint"). */

import type { Sealing } from '../../../application/ports/checkpoints.ts';
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

export const CHECKPOINT_COLUMNS = checkpointColumns.map((column) => `c.${column}`).join(', ');

/** The last checkpoint whose records were archived. */
export const NEWEST_ARCHIVED = 'select max(last_checkpoint) from ledger_archives';

/** In the order of `checkpointColumns`. */
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

/** The first checkpoint that ends at a number or after it. */
export interface SealingRow extends CheckpointRow {
  readonly archived: boolean | number | null;
}

/**
 * The checkpoint of a record, in one statement and so from one snapshot. A checkpoint is archived as a whole: records of the
 * next month that it covers count as archived too.
 *
 * @param seq the parameter with the record's number, which the text uses twice
 */
export function selectSealing(seq: string): string {
  return `select ${CHECKPOINT_COLUMNS}, ${seq} <= (select max(last_seq) from ledger_archives) as archived
    from checkpoints c where c.last_seq >= ${seq} order by c.last_seq limit 1`;
}

/** Ranges have no gaps, so the row's range covers the number, unless the number precedes all ranges. */
export function toSealing(seq: number, row: SealingRow | undefined): Sealing {
  if (row === undefined || seq < row.first_seq) return { kind: 'not_sealed' };
  return { kind: row.archived ? 'archived' : 'sealed', checkpoint: toCheckpoint(row) };
}
