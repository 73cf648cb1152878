/** A SQLite database in memory with the schema, for tests whose subject is not the storage. */

import { openSqlite } from '../../adapters/storage/sqlite/open.ts';
import type { StorageSurroundings } from '../../adapters/storage/storage.ts';
import { type Storage, withMethods } from './storage.ts';

export async function openTestDatabase(surroundings: StorageSurroundings): Promise<Storage> {
  const storage = withMethods(await openSqlite({ path: ':memory:' }, surroundings));
  await storage.migrate();
  return storage;
}
