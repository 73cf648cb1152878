/** `mandate migrate` on Postgres: schema, ledger partitions and the serving role's privileges in one transaction. */

import { readFileSync } from 'node:fs';
import createKnex, { type Knex } from 'knex';
import { type Instant, toMillisecondText } from '../../../domain/instant.ts';
import { DatabaseRefusal } from '../database-refusal.ts';
import { applyMigrations, compareSchema, MIGRATIONS_TABLE, type Migration, silentKnex } from '../rows/migrations.ts';
import type { SchemaStatus } from '../storage.ts';
import { bindInstant } from './column-types.ts';
import type { Connections, Run } from './connections.ts';
import { asUnavailable } from './errors.ts';
import { MIGRATION_LOCK_LIMIT_MS, SERVING_LIMITS } from './limits.ts';
import { LOCK } from './locks.ts';
import { grantToServingRole } from './serving-role.ts';

export interface MigrationOptions {
  /** Connects as the role that will own the schema. */
  readonly connectionString: string;
  /** The role that the service connects as. Nothing is granted if it owns the schema. */
  readonly servingRole: string;
  readonly now: Instant;
  readonly monthsAhead: number;
}

/** Migrations in the order in which they are applied. */
const migrations: readonly Migration[] = [
  { name: '0001-schema', statements: [readFileSync(new URL('../postgres/schema.sql', import.meta.url), 'utf8')] },
];

const hasTable = { name: 'has_migrations', text: `select to_regclass('${MIGRATIONS_TABLE}') is not null as there` };

/** Reads which migrations were applied. Changes nothing. */
export async function readSchemaStatus({ knex, run }: Connections): Promise<SchemaStatus> {
  const { rows } = await run<{ there: boolean }>(hasTable);
  if (rows[0]?.there !== true) return 'absent';
  const applied = await run<{ name: string }>(knex.select('name').from(MIGRATIONS_TABLE));
  return compareSchema(
    applied.rows.map((row) => row.name),
    migrations,
  );
}

/** The oldest server version that the functions and partitions support. */
const OLDEST_SERVER = 150_000;

export async function migratePostgres(options: MigrationOptions): Promise<readonly string[]> {
  const knex = createKnex({
    client: 'pg',
    connection: {
      connectionString: options.connectionString,
      application_name: 'mandate migrate',
      connectionTimeoutMillis: SERVING_LIMITS.acquire,
    },
    acquireConnectionTimeout: SERVING_LIMITS.acquire,
    pool: { min: 0, max: 1 },
    log: silentKnex,
  });
  try {
    return await knex.transaction((transaction) => migrateIn(transaction, options));
  } catch (error) {
    throw asUnavailable(error);
  } finally {
    await knex.destroy();
  }
}

async function migrateIn(transaction: Knex.Transaction, options: MigrationOptions): Promise<readonly string[]> {
  await transaction.raw(`set local lock_timeout to ${MIGRATION_LOCK_LIMIT_MS}`);
  await transaction.raw(`select pg_advisory_xact_lock(${LOCK.migration}, 0)`);
  await refuseUnfit(transaction);
  const applied = await applyMigrations(transaction, migrations);
  await transaction.raw('select create_ledger_partitions(?, ?)', [bindInstant(options.now), options.monthsAhead]);
  await grantToServingRole(transaction, options.servingRole);
  return applied;
}

/** @throws DatabaseRefusal */
async function refuseUnfit(transaction: Knex.Transaction): Promise<void> {
  const { rows } = await transaction.raw(
    "select current_setting('server_version_num')::integer as version, current_setting('server_encoding') as encoding",
  );
  const { version, encoding }: { version: number; encoding: string } = rows[0];
  if (version < OLDEST_SERVER) throw new DatabaseRefusal('server_too_old', 'migrating');
  if (encoding !== 'UTF8') throw new DatabaseRefusal('encoding_not_utf8', 'migrating');
}

/** Creates the ledger's partitions, one for each month. `migrate` runs it, and the service does every hour. */

const create = { name: 'create_ledger_partitions', text: 'select create_ledger_partitions($1, $2)' };

/** Returns `ledger_2026_11` for any instant of that month in UTC. */
export function partitionOf(instant: Instant): string {
  return `ledger_${toMillisecondText(instant).slice(0, 7).replace('-', '_')}`;
}

export async function createPartitions(run: Run, now: Instant, monthsAhead: number): Promise<void> {
  await run(create, [bindInstant(now), monthsAhead]);
}
