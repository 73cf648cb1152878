/** `mandate migrate` on SQLite: everything in one transaction, which waits for the one of another process. */

import { setTimeout as pause } from 'node:timers/promises';
import type { Knex } from 'knex';
import { applyMigrations } from '../rows/migrations.ts';
import { asUnavailable, isBusy } from './errors.ts';
import { MIGRATION_ATTEMPTS, MIGRATION_PAUSE_MS } from './limits.ts';
import { migrations } from './migrations/migrations.ts';

/** "MNDT": tells a Mandate database from another SQLite file. */
const APPLICATION_ID = 0x4d4e4454;

export async function migrateSqlite(knex: Knex): Promise<readonly string[]> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await knex.transaction(migrateIn);
    } catch (error) {
      if (!isBusy(error) || attempts === MIGRATION_ATTEMPTS) throw asUnavailable(error);
      await pause(MIGRATION_PAUSE_MS);
    }
  }
}

async function migrateIn(transaction: Knex.Transaction): Promise<readonly string[]> {
  // Knex begins deferred, and a transaction that has read cannot get the write lock once somebody else has written.
  // This statement writes, so the lock is taken, or found taken, before anything else is done.
  await transaction.raw(`pragma application_id = ${APPLICATION_ID}`);
  return applyMigrations(transaction, migrations);
}
