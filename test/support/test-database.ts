/** A migrated SQLite database in memory, for tests of other parts than storage. */

import { openSqlite } from '../../adapters/storage/sqlite/open.ts';
import type { StorageSurroundings } from '../../adapters/storage/storage.ts';
import { type Storage, withMethods } from './storage.ts';

export async function openTestDatabase(surroundings: StorageSurroundings): Promise<Storage> {
  const storage = withMethods(await openSqlite({ path: ':memory:' }, surroundings));
  await storage.migrate();
  return storage;
}
