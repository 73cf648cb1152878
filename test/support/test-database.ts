/** A SQLite database in memory with the schema, for tests whose subject is not the storage. */

import { openThreadless, type ThreadlessSqlite } from './threadless-sqlite.ts';

export type TestDatabase = ThreadlessSqlite;

export const openTestDatabase = (): Promise<TestDatabase> => openThreadless(':memory:');
