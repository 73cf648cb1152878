/**
 * Stores checkpoints on SQLite. Write transactions run one at a time, so no record gets a lower number later. The newest
 * record therefore ends the next checkpoint's range, without a lock.
 */

import type { Checkpoints } from '../../../application/ports/checkpoints.ts';
import { StorageUnavailable } from '../../../application/ports/decisions.ts';
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
import { BEYOND, type LedgerValues, RECORD_COLUMNS, readLedgerValues, SELECT_OUTSIDE } from '../rows/ledger-row.ts';
import { bindInstant, type Connection } from './connection.ts';
import type { Run } from './handle.ts';

const selectNewest = `select ${CHECKPOINT_COLUMNS} from checkpoints c order by c.checkpoint_id desc limit 1`;

const selectHighest = `select max(seq) as highest, max(seq) > ${Number.MAX_SAFE_INTEGER} as beyond from ledger where seq > ?`;

const selectRecords = `select ${RECORD_COLUMNS} from ledger
  where seq > ? and seq <= ? order by seq limit ?`;

/** `seq` is the primary key, but tampering can remove that and add a second record with a number. Both are read. */
const selectNumbered = `select ${RECORD_COLUMNS} from ledger where seq = ?`;

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
        const { rows } = run<{ highest: number | null; beyond: number | null }>(selectHighest, [sealed]);
        if (rows[0]?.beyond) throw new StorageUnavailable(BEYOND);
        const lastSeq = rows[0]?.highest ?? undefined;
        return lastSeq === undefined ? undefined : { firstSeq: sealed + 1, lastSeq, previous };
      }),

    records: ({ firstSeq, lastSeq }, after, limit) =>
      read((run) => {
        // One more than asked for: it shows whether the page would end between two records with one number.
        const { rows } = run<LedgerValues>(selectRecords, [Math.max(firstSeq - 1, after), lastSeq, limit + 1], 'list');
        const records = rows.map(readLedgerValues);
        if (records.length <= limit) return records;
        const next = records.pop();
        const last = records.at(-1)?.seq;
        if (last === undefined || next?.seq !== last) return records;
        const ofLast = run<LedgerValues>(selectNumbered, [last], 'list').rows.map(readLedgerValues);
        return [...records.filter(({ seq }) => seq < last), ...ofLast];
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

    outside: () => read((run) => run<{ seq: string | null }>(SELECT_OUTSIDE).rows[0]?.seq ?? undefined),

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
