/** Stores checkpoints on Postgres. Functions of `schema.sql` take the fence, and refuse a wrong predecessor. */

import type { Checkpoints } from '../../../application/ports/checkpoints.ts';
import {
  type ArchivedRow,
  CHECKPOINT_COLUMNS,
  type CheckpointRow,
  checkpointColumns,
  checkpointValues,
  SELECT_ARCHIVED,
  type SealingRow,
  selectSealing,
  toArchivedThrough,
  toCheckpoint,
  toSealing,
} from '../rows/checkpoint-row.ts';
import { type LedgerRow, RECORD_COLUMNS, SELECT_OUTSIDE, toLedgerRecord } from '../rows/ledger-row.ts';
import { bindInstant } from './column-types.ts';
import type { Connections } from './connections.ts';

/** Without a previous checkpoint its columns are null. */
const selectUnsealed = {
  name: 'unsealed',
  text: `select ${checkpointColumns.map((column) => `(u.previous).${column}`).join(', ')}, u.highest from unsealed() u`,
};

/** The primary key is (ts, seq), so tampering can add a second row with the same `seq`. Both are read. */
const selectRecords = {
  name: 'sealed_records',
  text: `select ${RECORD_COLUMNS} from ledger where seq > $1 and seq <= $2 order by seq fetch first $3 rows with ties`,
};

const selectOutside = { name: 'record_outside', text: SELECT_OUTSIDE };

const addCheckpoint = {
  name: 'add_checkpoint',
  text: `select add_checkpoint(${checkpointColumns.map((_, nth) => `$${nth + 1}`).join(', ')}) as added`,
};

const selectNewest = {
  name: 'newest_checkpoint',
  text: `select ${CHECKPOINT_COLUMNS} from checkpoints c order by c.checkpoint_id desc limit 1`,
};

const selectPage = {
  name: 'checkpoints',
  text: `select ${CHECKPOINT_COLUMNS} from checkpoints c where c.checkpoint_id > $1::bigint order by c.checkpoint_id limit $2`,
};

const selectSealingOf = { name: 'sealing', text: selectSealing('$1') };

const selectArchived = {
  name: 'archived_through',
  text: SELECT_ARCHIVED,
};

type UnsealedRow = (CheckpointRow | { readonly checkpoint_id: null }) & { readonly highest: number | null };

export function postgresCheckpoints({ run }: Connections): Checkpoints {
  return {
    async unsealed() {
      const { rows } = await run<UnsealedRow>(selectUnsealed);
      const row = rows[0];
      if (row === undefined || row.highest === null) return undefined;
      const previous = row.checkpoint_id === null ? undefined : toCheckpoint(row);
      return { firstSeq: (previous?.lastSeq ?? 0) + 1, lastSeq: row.highest, previous };
    },

    async records({ firstSeq, lastSeq }, after, limit) {
      const { rows } = await run<LedgerRow>(selectRecords, [Math.max(firstSeq - 1, after), lastSeq, limit]);
      return rows.map(toLedgerRecord);
    },

    async add(checkpoint) {
      const { rows } = await run<{ added: boolean }>(addCheckpoint, checkpointValues(checkpoint, bindInstant));
      return rows[0]?.added === true ? 'added' : 'overtaken';
    },

    async outside() {
      const { rows } = await run<{ seq: string | null }>(selectOutside);
      return rows[0]?.seq ?? undefined;
    },

    async newest() {
      const { rows } = await run<CheckpointRow>(selectNewest);
      return rows[0] && toCheckpoint(rows[0]);
    },

    async page(after, limit) {
      const { rows } = await run<CheckpointRow>(selectPage, [after, limit]);
      return rows.map(toCheckpoint);
    },

    async sealing(seq) {
      const { rows } = await run<SealingRow>(selectSealingOf, [seq]);
      return toSealing(seq, rows[0]);
    },

    async archivedThrough() {
      const { rows } = await run<ArchivedRow>(selectArchived);
      return rows[0] && toArchivedThrough(rows[0]);
    },
  };
}
