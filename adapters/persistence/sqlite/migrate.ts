/** `mandate migrate` on SQLite: everything in one transaction, which waits for the one of another process. */

import { applyMigrations } from '../sql/migrations.ts';
import type { Connections } from './connections.ts';
import { asUnavailable } from './errors.ts';
import { MIGRATION_LOCK_LIMIT_MS } from './limits.ts';
import { migrations } from './migrations/migrations.ts';

/** "MNDT": tells a Mandate database from another SQLite file. */
const APPLICATION_ID = 0x4d4e4454;

export async function migrateSqlite({ knex }: Connections): Promise<readonly string[]> {
  try {
    await knex.raw(`pragma busy_timeout = ${MIGRATION_LOCK_LIMIT_MS}`);
    return await knex.transaction(async (transaction) => {
      // Knex begins deferred, and a transaction that reads first cannot wait for the write lock afterwards. This
      // statement writes, so it takes the lock before anything is read.
      await transaction.raw(`pragma application_id = ${APPLICATION_ID}`);
      return applyMigrations(transaction, migrations);
    });
  } catch (error) {
    throw asUnavailable(error);
  } finally {
    await knex.raw('pragma busy_timeout = 0');
  }
}
