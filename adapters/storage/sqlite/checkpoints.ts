/**
 * Stores checkpoints on SQLite. Write transactions run one at a time, so no record gets a lower number later. The newest
 * record therefore ends the next checkpoint's range, without a lock.
 */

import type { Checkpoints } from '../../../application/ports/checkpoints.ts';
import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import type { Checkpoint } from '../../../domain/ledger/checkpoint.ts';
import { newestCheckpoint, storedCheckpoints } from '../queries/checkpoints.ts';
import { checkpointColumns, checkpointValues } from '../rows/checkpoint-row.ts';
import { BEYOND, type LedgerValues, RECORD_COLUMNS, readLedgerValues } from '../rows/ledger-row.ts';
import { answer } from './answer.ts';
import { sqliteAsk } from './ask.ts';
import { bindInstant, type Connection } from './connection.ts';
import { usedTwice } from './used-twice.ts';

const selectHighest = `select max(seq) as highest, max(seq) > ${Number.MAX_SAFE_INTEGER} as beyond from ledger where seq > ?`;

const selectRecords = `select ${RECORD_COLUMNS} from ledger
  where seq > ? and seq <= ? order by seq limit ?`;

/** `seq` is the primary key, but tampering can remove that and add a second record with a number. Both are read. */
const selectNumbered = `select ${RECORD_COLUMNS} from ledger where seq = ?`;

const insert = `insert into checkpoints (${checkpointColumns.join(', ')})
  values (${checkpointColumns.map(() => '?').join(', ')})`;

const selectStored = 'select 1 from ledger where seq = ?';

export function sqliteCheckpoints({ read, write }: Connection): Checkpoints {
  return {
    ...storedCheckpoints(sqliteAsk({ read })),

    unsealed: () =>
      read((run) => {
        const previous = answer(run, newestCheckpoint, undefined);
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

    usedTwice: () => read(usedTwice),

    add: (checkpoint) =>
      write((run) => {
        const newest = answer(run, newestCheckpoint, undefined);
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
  };
}

function isWhole({ checkpointId, firstSeq, lastSeq, prevCheckpointHash }: Checkpoint): boolean {
  return lastSeq >= firstSeq && (prevCheckpointHash === undefined) === (checkpointId === 1);
}
