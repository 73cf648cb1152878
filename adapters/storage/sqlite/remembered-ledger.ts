/**
 * Notices that the open database went back in time: another process restored a backup into the file (`.restore`), which
 * stays the same file. Only a commit of another connection can do that, and `pragma data_version` tells of it without
 * reading a page. So in a service that is alone on its file nothing else is asked.
 *
 * SQLite never removes a record, so a record that is missing was not archived.
 */

import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import { isMissing, ledgerMemory, type RememberedRecord } from '../ledger-memory.ts';
import type { Run } from './handle.ts';
import { FILE_CHECK_MS } from './limits.ts';

const selectVersion = 'select data_version as version from pragma_data_version';
const findLedger = "select 1 from sqlite_schema where type = 'table' and name = 'ledger'";
const selectNewest = 'select seq, ts from ledger order by seq desc limit 1';
const selectRecord = 'select seq, ts from ledger where seq = ?';

export interface RememberedLedger {
  /** Called at the beginning of a write transaction. @throws StorageUnavailable if the database went back in time */
  atBegin(): void;
  beforeCommit(): void;
  committed(): void;
  /** Called before a read. Looks at most every FILE_CHECK_MS. @throws StorageUnavailable like `atBegin` */
  beforeRead(): void;
  wentBack(): boolean;
}

/** @param now milliseconds of a monotonic clock */
export function rememberedLedger(run: Run, now: () => number): RememberedLedger {
  const memory = ledgerMemory();
  const dataVersion = () => run<{ version: number }>(selectVersion).rows[0]?.version;
  // Before `mandate migrate` there is no ledger, nor in an empty database that was restored.
  const one = (sql: string, values: readonly number[] = []): RememberedRecord | undefined =>
    run(findLedger).count === 0 ? undefined : run<RememberedRecord>(sql, values).rows[0];
  const sawNewest = () => {
    const newest = one(selectNewest);
    if (newest !== undefined) memory.saw(newest);
  };

  let version = dataVersion();
  let lookedAt = now();
  let uncommitted: RememberedRecord | undefined;
  sawNewest();

  function look(): void {
    lookedAt = now();
    const current = dataVersion();
    if (current !== version && !memory.wentBack()) {
      const newest = memory.newest();
      if (newest !== undefined && isMissing(newest, one(selectRecord, [newest.seq]))) memory.missing();
      else sawNewest();
      // Not before: if a statement failed, the next call looks again.
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
    },
    beforeRead() {
      if (now() - lookedAt >= FILE_CHECK_MS) look();
      else refuse();
    },
    wentBack: memory.wentBack,
  };
}
