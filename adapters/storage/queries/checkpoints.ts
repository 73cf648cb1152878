/** Queries of the checkpoints. Each engine seals on its own (`../postgres/checkpoints.ts`, `../sqlite/checkpoints.ts`). */

import type { Checkpoints, Sealing } from '../../../application/ports/checkpoints.ts';
import type { ListedExport } from '../../../application/ports/storage.ts';
import type { Checkpoint } from '../../../domain/ledger/checkpoint.ts';
import type { LedgerRecord } from '../../../domain/ledger/record.ts';
import { type CheckpointRow, checkpointColumns, toCheckpoint } from '../rows/checkpoint-row.ts';
import { LARGEST, type LedgerRow, RECORD_COLUMNS, toLedgerRecord } from '../rows/ledger-row.ts';
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

/**
 * The first checkpoint that ends at a number or later. It covers the number, unless that precedes the first range. */
export const sealingOf: Query<number, Sealing> = {
  name: 'sealing',
  text: `select ${COLUMNS} from checkpoints c where c.last_seq >= :seq order by c.last_seq limit 1`,
  values: (seq) => ({ seq }),
  read([row]: readonly CheckpointRow[], seq) {
    if (row === undefined || seq < row.first_seq) return { kind: 'not_sealed' };
    return { kind: 'sealed', checkpoint: toCheckpoint(row) };
  },
};

/** A run adds one for each month. */
const MOST_ARCHIVINGS = 100;

export const listArchivings: Query<undefined, readonly LedgerRecord[]> = {
  name: 'archivings',
  plan: 'in_order',
  // The second condition lets Postgres use the partial index.
  text: `select ${RECORD_COLUMNS} from ledger where event = 'audit.archived' and event <> 'token.issued' and seq <= ${LARGEST}
    order by ts desc, seq desc limit ${MOST_ARCHIVINGS}`,
  read: (rows: readonly LedgerRow[]) => rows.map(toLedgerRecord),
};

export const listExports: Query<undefined, readonly ListedExport[]> = {
  name: 'listed_exports',
  text: 'select month, last_checkpoint from ledger_archives order by month',
  read: (rows: readonly { readonly month: string; readonly last_checkpoint: number | null }[]) =>
    rows.map(({ month, last_checkpoint }) => ({ month, lastCheckpoint: last_checkpoint ?? undefined })),
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
): Pick<Checkpoints, 'outside' | 'newest' | 'page' | 'pageBefore' | 'sealing' | 'archivings'> {
  return {
    outside: () => ask(recordOutside, undefined),
    newest: () => ask(newestCheckpoint, undefined),
    page: (after, limit) => ask(listCheckpoints, { after, limit }),
    pageBefore: (before, limit) => ask(listCheckpointsBefore, { before, limit }),
    sealing: (seq) => ask(sealingOf, seq),
    archivings: () => ask(listArchivings, undefined),
  };
}
