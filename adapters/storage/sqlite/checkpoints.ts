/**
 * Stores checkpoints on SQLite. Write transactions run one at a time, so no record gets a lower number later. The newest
 * record therefore ends the next checkpoint's range, without a lock.
 */

import type { Checkpoints } from '../../../application/ports/checkpoints.ts';
import type { Checkpoint } from '../../../domain/ledger/checkpoint.ts';
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
import { type LedgerValues, RECORD_COLUMNS, readLedgerValues } from '../rows/ledger-row.ts';
import { bindInstant, type Connection } from './connection.ts';
import type { Run } from './handle.ts';

const selectNewest = `select ${CHECKPOINT_COLUMNS} from checkpoints c order by c.checkpoint_id desc limit 1`;

const selectHighest = 'select max(seq) as highest from ledger where seq > ?';

const selectRecords = `select ${RECORD_COLUMNS} from ledger
  where seq > ? and seq <= ? order by seq limit ?`;

const insert = `insert into checkpoints (${checkpointColumns.join(', ')})
  values (${checkpointColumns.map(() => '?').join(', ')})`;

const selectPage = `select ${CHECKPOINT_COLUMNS} from checkpoints c
  where c.checkpoint_id > ? order by c.checkpoint_id limit ?`;

const selectSealingOf = selectSealing('?');

const selectStored = 'select 1 from ledger where seq = ?';

export function sqliteCheckpoints({ read, write }: Connection): Checkpoints {
  return {
    unsealed: () =>
      read((run) => {
        const previous = findNewest(run);
        const sealed = previous?.lastSeq ?? 0;
        const { rows } = run<{ highest: number | null }>(selectHighest, [sealed]);
        const lastSeq = rows[0]?.highest ?? undefined;
        return lastSeq === undefined ? undefined : { firstSeq: sealed + 1, lastSeq, previous };
      }),

    records: ({ firstSeq, lastSeq }, after, limit) =>
      read((run) => {
        const { rows } = run<LedgerValues>(selectRecords, [Math.max(firstSeq - 1, after), lastSeq, limit], 'list');
        return rows.map(readLedgerValues);
      }),

    add: (checkpoint) =>
      write((run) => {
        const newest = findNewest(run);
        const isNext =
          checkpoint.checkpointId === (newest?.checkpointId ?? 0) + 1 &&
          checkpoint.firstSeq === (newest?.lastSeq ?? 0) + 1;
        if (!isNext) return 'overtaken';
        if (!isWhole(checkpoint) || run(selectStored, [checkpoint.lastSeq]).count === 0) {
          throw new Error('a checkpoint must end with a stored record and link to its predecessor');
        }
        run(insert, checkpointValues(checkpoint, bindInstant));
        return 'added';
      }),

    newest: () => read(findNewest),

    page: (after, limit) => read((run) => run<CheckpointRow>(selectPage, [after, limit]).rows.map(toCheckpoint)),

    sealing: (seq) => read((run) => toSealing(seq, run<SealingRow>(selectSealingOf, [seq, seq]).rows[0])),

    archivedThrough: () =>
      read((run) => {
        const row = run<ArchivedRow>(SELECT_ARCHIVED).rows[0];
        return row && toArchivedThrough(row);
      }),
  };
}

function findNewest(run: Run): Checkpoint | undefined {
  const row = run<CheckpointRow>(selectNewest).rows[0];
  return row && toCheckpoint(row);
}

function isWhole({ checkpointId, firstSeq, lastSeq, prevCheckpointHash }: Checkpoint): boolean {
  return lastSeq >= firstSeq && (prevCheckpointHash === undefined) === (checkpointId === 1);
}
