/**
 * The ports of a SQLite file without the database thread: the same code on a connection of this thread. Starting a thread
 * takes 70 ms of CPU time, more than most tests of a use case.
 */

import { queryPorts } from '../../adapters/storage/queries/ports.ts';
import { sweeping } from '../../adapters/storage/queries/sweeping.ts';
import { sqliteAsk, sqliteChange } from '../../adapters/storage/sqlite/ask.ts';
import { sqliteCheckpoints } from '../../adapters/storage/sqlite/checkpoints.ts';
import { openConnection } from '../../adapters/storage/sqlite/connection.ts';
import { sqliteDecisions } from '../../adapters/storage/sqlite/decide.ts';
import { sqliteLedger } from '../../adapters/storage/sqlite/ledger.ts';
import { migrateSqlite } from '../../adapters/storage/sqlite/migrate.ts';
import { sqliteReadiness } from '../../adapters/storage/sqlite/readiness.ts';
import { sqliteFreeing } from '../../adapters/storage/sqlite/sweeping.ts';
import { withMethods } from './storage.ts';

export type ThreadlessSqlite = Awaited<ReturnType<typeof openThreadless>>;

/** @param path `:memory:` for a database with the schema that only this storage has */
export async function openThreadless(path: string) {
  const connection = await openConnection(path);
  if (path === ':memory:') await migrateSqlite(connection);
  const [ask, change] = [sqliteAsk(connection), sqliteChange(connection)];
  return withMethods({
    ...queryPorts(ask, change),
    ...sqliteDecisions(connection),
    ledger: sqliteLedger(connection),
    sweeping: sweeping(change, sqliteFreeing),
    checkpoints: sqliteCheckpoints(connection),
    readiness: sqliteReadiness(connection),
    close: connection.close,
  });
}
