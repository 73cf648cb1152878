/** Stores checkpoints on Postgres. Functions of `schema.sql` take the fence, and refuse a wrong predecessor. */

import type { Checkpoints } from '../../../application/ports/checkpoints.ts';
import { storedCheckpoints } from '../queries/checkpoints.ts';
import { type CheckpointRow, checkpointColumns, checkpointValues, toCheckpoint } from '../rows/checkpoint-row.ts';
import { type LedgerRow, RECORD_COLUMNS, toLedgerRecord } from '../rows/ledger-row.ts';
import { postgresAsk } from './ask.ts';
import { bindInstant } from './column-types.ts';
import type { Connections } from './pool/pool.ts';
import { usedTwice } from './used-twice.ts';

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

const addCheckpoint = {
  name: 'add_checkpoint',
  text: `select add_checkpoint(${checkpointColumns.map((_, nth) => `$${nth + 1}`).join(', ')}) as added`,
};

type UnsealedRow = (CheckpointRow | { readonly checkpoint_id: null }) & { readonly highest: number | null };

export function postgresCheckpoints(connections: Connections): Checkpoints {
  const { run, transact, readTogether } = connections;
  return {
    ...storedCheckpoints(postgresAsk(connections)),

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

    usedTwice: () => readTogether(usedTwice),

    async add(checkpoint) {
      const values = checkpointValues(checkpoint, bindInstant);
      const { rows } = await transact((run) => run<{ added: boolean }>(addCheckpoint, values));
      return rows[0]?.added === true ? 'added' : 'overtaken';
    },
  };
}
