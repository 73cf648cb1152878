/**
 * The ports of a SQLite file without the database thread: the same code on a connection of this thread. Starting a thread
 * takes 70 ms of CPU time, more than most tests of a use case.
 */

import { transparencyLog } from '../../adapters/storage/queries/log.ts';
import { queryPorts } from '../../adapters/storage/queries/ports.ts';
import { sqliteAsk, sqliteChange } from '../../adapters/storage/sqlite/ask.ts';
import { sqliteCheckpoints } from '../../adapters/storage/sqlite/checkpoints.ts';
import { openConnection } from '../../adapters/storage/sqlite/connection.ts';
import { sqliteDecisions } from '../../adapters/storage/sqlite/decide.ts';
import { sqliteLedger } from '../../adapters/storage/sqlite/ledger.ts';
import { append } from '../../application/decisions/append.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';

export type ThreadlessSqlite = Awaited<ReturnType<typeof openThreadless>>;

export async function openThreadless(path: string) {
  const connection = await openConnection(path);
  const [ask, change] = [sqliteAsk(connection), sqliteChange(connection)];
  const { decide } = sqliteDecisions(connection);
  return {
    ...queryPorts(ask, change),
    decide,
    ledger: { ...sqliteLedger(connection), append: (entry: LedgerEntry) => decide(append, entry) },
    checkpoints: sqliteCheckpoints(connection),
    transparencyLog: transparencyLog(ask, change),
    close: connection.close,
  };
}
