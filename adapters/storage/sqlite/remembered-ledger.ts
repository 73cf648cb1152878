/**
 * Notices that the open database went back in time: another process restored a backup into the file (`.restore`), which
 * stays the same file. Only a commit of another connection can do that, and `pragma data_version` shows it without
 * reading a page. So a service that is alone on its file runs no other query for this.
 *
 * SQLite never removes a record, so a record that is missing was not archived.
 */

import { createHash } from 'node:crypto';
import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import { instantFromMicros } from '../../../domain/instant.ts';
import { isMissing, ledgerMemory, type RememberedRecord } from '../ledger-memory.ts';
import { type LedgerRow, ledgerColumns } from '../rows/ledger-row.ts';
import type { Run } from './handle.ts';
import { FILE_CHECK_MS } from './limits.ts';

const selectVersion = 'select data_version as version from pragma_data_version';
const findLedger = "select 1 from sqlite_schema where type = 'table' and name = 'ledger'";
const findColumns = `select 1 from pragma_table_info('ledger') where name in (${ledgerColumns.map((column) => `'${column}'`).join(', ')})`;
const selectNewest = `select ${ledgerColumns.join(', ')} from ledger order by seq desc limit 1`;
const selectRecord = `select ${ledgerColumns.join(', ')} from ledger where seq = ?`;

export interface RememberedLedger {
  /** Called at the beginning of a write transaction. @throws StorageUnavailable if the database went back in time */
  atBegin(): void;
  beforeCommit(): void;
  committed(): void;
  /** Called before a read. Looks at most every FILE_CHECK_MS. @throws StorageUnavailable like `atBegin` */
  beforeRead(): void;
  wentBack(): boolean;
}

/** Number and time of the newest record, 1 if it went missing, and 1 if the file was overwritten. */
const NUMBERS_BYTES = 4 * Float64Array.BYTES_PER_ELEMENT;
const HASH_BYTES = 32;

/** These numbers, then the hash of the newest record. Written by one thread at a time, and kept after its death. */
export function memoryOfThreads(): SharedArrayBuffer {
  return new SharedArrayBuffer(NUMBERS_BYTES + HASH_BYTES);
}

/** The part of the memory for `overwritten-file.ts`. */
export function overwrittenFlag(memory: SharedArrayBuffer): Float64Array {
  return new Float64Array(memory, 3 * Float64Array.BYTES_PER_ELEMENT, 1);
}

/**
 * @param now milliseconds of a monotonic clock
 * @param shared what an earlier thread of this process saw
 */
export function rememberedLedger(run: Run, now: () => number, shared = memoryOfThreads()): RememberedLedger {
  const memory = ledgerMemory();
  const kept = new Float64Array(shared, 0, 3);
  const keptHash = Buffer.from(shared, NUMBERS_BYTES, HASH_BYTES);
  const keep = () => {
    const { seq, ts, hash } = memory.newest() ?? { seq: 0, ts: 0, hash: '' };
    kept.set([seq, ts, Number(memory.wentBack())]);
    keptHash.write(hash, 'hex');
  };
  const dataVersion = () => run<{ version: number }>(selectVersion).rows[0]?.version;
  // `mandate migrate` also opens a database whose ledger lacks a column, and names the column.
  const isLacking = run(findLedger).count > 0 && run(findColumns).count < ledgerColumns.length;
  // Before `mandate migrate` there is no ledger, nor in an empty database that was restored.
  const one = (sql: string, values: readonly number[] = []): RememberedRecord | undefined =>
    isLacking || run(findLedger).count === 0 ? undefined : run<LedgerRow>(sql, values).rows.map(remembered)[0];
  const sawNewest = () => {
    const newest = one(selectNewest);
    if (newest !== undefined) memory.saw(newest);
    keep();
  };

  let version = dataVersion();
  let lookedAt = now();
  let uncommitted: RememberedRecord | undefined;
  const [seq = 0, ts = 0, isBack] = kept;
  if (seq > 0) memory.saw({ seq, ts: instantFromMicros(ts), hash: keptHash.toString('hex') });
  if (isBack === 1) memory.missing();
  compare();

  function compare(): void {
    const newest = memory.newest();
    if (newest !== undefined && isMissing(newest, one(selectRecord, [newest.seq])?.hash)) memory.missing();
    sawNewest();
  }

  function look(): void {
    lookedAt = now();
    const current = dataVersion();
    if (current !== version && !memory.wentBack()) {
      compare();
      // Set after the comparison: if a statement of it failed, the next call compares again.
      version = current;
    }
    refuse();
  }

  function refuse(): void {
    if (memory.wentBack()) throw new StorageUnavailable('The SQLite database went back in time');
  }

  return {
    atBegin: look,
    beforeCommit() {
      uncommitted = one(selectNewest);
    },
    committed() {
      if (uncommitted !== undefined) memory.saw(uncommitted);
      keep();
    },
    beforeRead() {
      if (now() - lookedAt >= FILE_CHECK_MS) look();
      else refuse();
    },
    wentBack: memory.wentBack,
  };
}

function remembered(row: LedgerRow): RememberedRecord {
  const columns = ledgerColumns.map((column) => row[column]);
  return { seq: row.seq, ts: row.ts, hash: createHash('sha256').update(JSON.stringify(columns)).digest('hex') };
}
