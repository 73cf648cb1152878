/** Queries of the checkpoints. Each engine seals on its own (`../postgres/checkpoints.ts`, `../sqlite/checkpoints.ts`). */

import type { ArchivedThrough, Checkpoints, Sealing } from '../../../application/ports/checkpoints.ts';
import type { Instant } from '../../../domain/instant.ts';
import type { Checkpoint } from '../../../domain/ledger/checkpoint.ts';
import { type CheckpointRow, checkpointColumns, toCheckpoint } from '../rows/checkpoint-row.ts';
import { LARGEST } from '../rows/ledger-row.ts';
import type { Ask, Query } from './query.ts';

const COLUMNS = checkpointColumns.map((column) => `c.${column}`).join(', ');

export const newestCheckpoint: Query<undefined, Checkpoint | undefined> = {
  name: 'newest_checkpoint',
  text: `select ${COLUMNS} from checkpoints c order by c.checkpoint_id desc limit 1`,
  read: ([row]: readonly CheckpointRow[]) => row && toCheckpoint(row),
};

interface CheckpointsPage {
  readonly after: number;
  readonly limit: number;
}

/** An auditor may ask for a number beyond the type of the column, which a record has by tampering. */
export const listCheckpoints: Query<CheckpointsPage, readonly Checkpoint[]> = {
  name: 'checkpoints',
  text: `select ${COLUMNS} from checkpoints c where c.checkpoint_id > cast(:after as bigint) order by c.checkpoint_id limit :limit`,
  values: ({ after, limit }) => ({ after, limit }),
  read: (rows: readonly CheckpointRow[]) => rows.map(toCheckpoint),
};

/** The newest first. @param before `undefined` for the first page */
export const listCheckpointsBefore: Query<
  { readonly before: number | undefined; readonly limit: number },
  readonly Checkpoint[]
> = {
  name: 'checkpoints_before',
  text: `select ${COLUMNS} from checkpoints c where c.checkpoint_id < cast(:before as bigint) order by c.checkpoint_id desc limit :limit`,
  values: ({ before = LARGEST, limit }) => ({ before, limit }),
  read: (rows: readonly CheckpointRow[]) => rows.map(toCheckpoint),
};

/** The checkpoint that covers a record, and whether its records were archived. */
interface SealingRow extends CheckpointRow {
  readonly archived: boolean | number | null;
}

/**
 * The first checkpoint that ends at a number or later. It covers the number, unless that precedes the first range. One
 * statement, and so one snapshot. A checkpoint is archived as a whole, together with its records of the next month.
 */
export const sealingOf: Query<number, Sealing> = {
  name: 'sealing',
  text: `select ${COLUMNS}, :seq <= (select max(last_seq) from ledger_archives) as archived
    from checkpoints c where c.last_seq >= :seq order by c.last_seq limit 1`,
  values: (seq) => ({ seq }),
  read([row]: readonly SealingRow[], seq) {
    if (row === undefined || seq < row.first_seq) return { kind: 'not_sealed' };
    return { kind: row.archived ? 'archived' : 'sealed', checkpoint: toCheckpoint(row) };
  },
};

interface ArchivedRow extends CheckpointRow {
  readonly archived_before: Instant;
}

/** The last checkpoint whose records were archived, and the start of the first month that stays. */
export const archivedThrough: Query<undefined, ArchivedThrough | undefined> = {
  name: 'archived_through',
  text: `select ${COLUMNS}, a.archived_before
    from (select max(last_checkpoint) as id, max(archived_before) as archived_before from ledger_archives) a
      join checkpoints c on c.checkpoint_id = a.id`,
  read: ([row]: readonly ArchivedRow[]) => row && { ...toCheckpoint(row), archivedBefore: row.archived_before },
};

/** The number of a record that no checkpoint can seal, as text: beyond the safe integers a number would be rounded. */
export const recordOutside: Query<undefined, string | undefined> = {
  name: 'record_outside',
  text: `select cast(coalesce(
      (select min(seq) from ledger where seq < 1), (select max(seq) from ledger where seq > ${LARGEST})
    ) as text) as seq`,
  read: ([row]: readonly { readonly seq: string | null }[]) => row?.seq ?? undefined,
};

/** The keys that signed checkpoints, the latest first. */
export const listCheckpointKeys: Query<undefined, readonly string[]> = {
  name: 'condition_signers',
  text: 'select kid from checkpoints group by kid order by max(checkpoint_id) desc',
  read: (rows: readonly { readonly kid: string }[]) => rows.map(({ kid }) => kid),
};

/** The methods of the port that are queries. */
export function storedCheckpoints(
  ask: Ask,
): Pick<Checkpoints, 'outside' | 'newest' | 'page' | 'pageBefore' | 'sealing' | 'archivedThrough'> {
  return {
    outside: () => ask(recordOutside, undefined),
    newest: () => ask(newestCheckpoint, undefined),
    page: (after, limit) => ask(listCheckpoints, { after, limit }),
    pageBefore: (before, limit) => ask(listCheckpointsBefore, { before, limit }),
    sealing: (seq) => ask(sealingOf, seq),
    archivedThrough: () => ask(archivedThrough, undefined),
  };
}
