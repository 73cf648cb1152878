/** Opens a SQLite database; the file is created when there is none, the schema is not. */

import type { Storage, StorageSurroundings } from '../storage.ts';
import { openConnections } from './connections.ts';
import { migrateSqlite } from './migrate.ts';
import { sqlitePorts } from './ports.ts';
import { readSchemaStatus } from './schema-status.ts';

export interface SqliteOptions {
  /** Of the database file, or `:memory:`. */
  readonly path: string;
}

/** @throws when the file cannot be opened, or lies where write-ahead logging does not work */
export async function openSqlite({ path }: SqliteOptions, { log }: Pick<StorageSurroundings, 'log'>): Promise<Storage> {
  const connections = openConnections(path, log);
  try {
    await connections.read((run) => run('select 1'));
  } catch (error) {
    await connections.close();
    throw error;
  }
  return {
    ...sqlitePorts(connections),
    schemaStatus: () => readSchemaStatus(connections),
    migrate: () => migrateSqlite(connections.knex),
    // The ledger is one table here.
    createPartitions: async () => undefined,
    close: () => connections.close(),
  };
}
