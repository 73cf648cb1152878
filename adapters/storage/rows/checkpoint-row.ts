/** Converts between checkpoints (specification "Checkpoint") and rows of the `checkpoints` table. */

import type { ArchivedThrough, Sealing } from '../../../application/ports/checkpoints.ts';
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

/** Selects the last checkpoint whose records were archived, and the start of the first month that stays. */
export const SELECT_ARCHIVED = `select ${CHECKPOINT_COLUMNS}, a.archived_before
  from (select max(last_checkpoint) as id, max(archived_before) as archived_before from ledger_archives) a
    join checkpoints c on c.checkpoint_id = a.id`;

export interface ArchivedRow extends CheckpointRow {
  readonly archived_before: Instant;
}

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

export function toArchivedThrough(row: ArchivedRow): ArchivedThrough {
  return { ...toCheckpoint(row), archivedBefore: row.archived_before };
}

/** The checkpoint that covers a record, and whether its records were archived. */
export interface SealingRow extends CheckpointRow {
  readonly archived: boolean | number | null;
}

/**
 * Selects the checkpoint of a record in one statement, and so from one snapshot. A checkpoint is archived as a whole,
 * together with its records of the next month.
 *
 * @param seq the SQL parameter for the record's number, which the text uses twice
 */
export function selectSealing(seq: string): string {
  return `select ${CHECKPOINT_COLUMNS}, ${seq} <= (select max(last_seq) from ledger_archives) as archived
    from checkpoints c where c.last_seq >= ${seq} order by c.last_seq limit 1`;
}

/** @param row the first checkpoint that ends at `seq` or later. It covers `seq`, unless `seq` precedes the first range */
export function toSealing(seq: number, row: SealingRow | undefined): Sealing {
  if (row === undefined || seq < row.first_seq) return { kind: 'not_sealed' };
  return { kind: row.archived ? 'archived' : 'sealed', checkpoint: toCheckpoint(row) };
}
