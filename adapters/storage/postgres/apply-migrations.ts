/**
 * `mandate migrate` on Postgres: schema, ledger partitions and the serving role's privileges in one transaction. Only this
 * file loads Knex: a service does not need it (`PostgresOptions.loadMigrating`).
 */

import createKnex, { type Knex } from 'knex';
import pg from 'pg';
import type { Instant } from '../../../domain/instant.ts';
import { DatabaseRefusal } from '../database-refusal.ts';
import { applyMigrations, silentKnex } from '../rows/migrations.ts';
import { type SchemaItem, schemaDiffers } from '../rows/schema-items.ts';
import { bindInstant } from './column-types.ts';
import { asUnavailable } from './errors.ts';
import { MIGRATION_LOCK_LIMIT_MS, SERVING_LIMITS } from './limits.ts';
import { LOCK } from './locks.ts';
import { migrationsIn } from './migrate.ts';
import { COMMIT_SETTINGS, expectUnwarned, primaryOf, refuseSharedSessions, watchCommits } from './pool/pool.ts';
import { postgresDifferences, schemaItemsQuery } from './schema-items.ts';
import { closingBefore, grantToServingRole, identifier, literal } from './serving-role.ts';

export interface MigrationOptions {
  /** Connects as the role that will own the schema. */
  readonly connectionString: string;
  /** The role that the service connects as. Nothing is granted if it owns the schema. */
  readonly servingRole: string;
  readonly now: Instant;
  readonly monthsAhead: number;
}

/** The oldest server version that the functions and partitions support. */
const OLDEST_SERVER = 150_000;

export async function migratePostgres(options: MigrationOptions): Promise<readonly string[]> {
  const connectionString = await primaryOf(options.connectionString, 'migrating');
  await refuseSharedSessions(connectionString, 'migrating');
  // Not a connection of Knex: it asks a new one for `version()`, and leaves it open where the answer to a first query is an error.
  const connection = new pg.Client({
    connectionString,
    application_name: 'mandate migrate',
    connectionTimeoutMillis: SERVING_LIMITS.acquire,
  });
  // A query in progress rejects with the same error.
  connection.on('error', () => undefined);
  watchCommits(connection);
  const knex = createKnex({ client: 'pg', version: String(OLDEST_SERVER / 10_000), log: silentKnex });
  try {
    await connection.connect();
    await connection.query(COMMIT_SETTINGS);
    const applied = await knex.transaction((transaction) => migrateIn(transaction, options), { connection });
    // A warning of any of its statements counts: a migration can be run again.
    expectUnwarned(connection);
    return applied;
  } catch (error) {
    throw asUnavailable(error, connectionString);
  } finally {
    await Promise.all([connection.end(), knex.destroy()]);
  }
}

async function migrateIn(transaction: Knex.Transaction, options: MigrationOptions): Promise<readonly string[]> {
  await transaction.raw(`set local lock_timeout to ${MIGRATION_LOCK_LIMIT_MS}`);
  await transaction.raw(`select pg_advisory_xact_lock(${LOCK.migration}, 0)`);
  const schema = await schemaOf(transaction);
  await refuseUnfit(transaction);
  const statement = await closingBefore(transaction, schema, options.servingRole);
  if (statement !== undefined) throw new DatabaseRefusal('role_may_create', 'serving', { statement });
  const applied = await applyMigrations(transaction, schema, migrationsIn(identifier(schema)));
  await refuseDifferences(transaction, schema);
  await transaction.raw(`select ${identifier(schema)}.create_ledger_partitions(?::timestamptz, ?::integer)`, [
    bindInstant(options.now),
    options.monthsAhead,
  ]);
  await grantToServingRole(transaction, schema, options.servingRole);
  return applied;
}

/** @throws if the schema is not as the migrations make it */
async function refuseDifferences(transaction: Knex.Transaction, schema: string): Promise<void> {
  const oid = `(select oid from pg_catalog.pg_namespace where nspname = ${literal(schema)})`;
  const { rows }: { rows: readonly SchemaItem[] } = await transaction.raw(schemaItemsQuery(oid));
  const differences = postgresDifferences(rows, schema);
  if (differences.length > 0) throw schemaDiffers(differences);
}

/** Such characters would end a literal or a function's body in the files of migrations, or be a parameter for Knex. */
const UNUSABLE_IN_FILES = /["'$%?\\]/;

/**
 * Returns the schema that the owner's search path begins with, and takes it out of the search path: no object of another
 * role in it can be called instead of one of Postgres. From here on each name of ours is written with the schema.
 *
 * @throws DatabaseRefusal
 */
async function schemaOf(transaction: Knex.Transaction): Promise<string> {
  const { rows } = await transaction.raw('select current_schema()::text as schema');
  const { schema }: { schema: string | null } = rows[0];
  if (schema === null) throw new DatabaseRefusal('no_schema', 'migrating');
  if (UNUSABLE_IN_FILES.test(schema)) throw new DatabaseRefusal('unusable_schema_name', 'migrating');
  await transaction.raw('set local search_path = pg_catalog, pg_temp');
  return schema;
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
