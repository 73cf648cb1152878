/** `mandate migrate` on Postgres: schema, ledger partitions and the serving role's privileges in one transaction. */

import { readFileSync } from 'node:fs';
import createKnex, { type Knex } from 'knex';
import pg from 'pg';
import { type Instant, toMillisecondText } from '../../../domain/instant.ts';
import { DatabaseRefusal } from '../database-refusal.ts';
import { applyMigrations, compareSchema, MIGRATIONS_TABLE, type Migration, silentKnex } from '../rows/migrations.ts';
import type { SchemaStatus } from '../storage.ts';
import { bindInstant } from './column-types.ts';
import type { Run } from './connections.ts';
import { asUnavailable } from './errors.ts';
import { primaryOf } from './find-primary.ts';
import { MIGRATION_LOCK_LIMIT_MS, SERVING_LIMITS } from './limits.ts';
import { LOCK } from './locks.ts';
import { closingBefore, grantToServingRole, identifier } from './serving-role.ts';
import { refuseSharedSessions } from './shared-sessions.ts';

export interface MigrationOptions {
  /** Connects as the role that will own the schema. */
  readonly connectionString: string;
  /** The role that the service connects as. Nothing is granted if it owns the schema. */
  readonly servingRole: string;
  readonly now: Instant;
  readonly monthsAhead: number;
}

/** Migrations in the order in which they are applied. In their files, @schema@ stands for the name of the schema. */
const migrations = [{ name: '0001-schema', file: '../postgres/schema.sql' }] as const;

/** @param schema an identifier for Knex (`identifier`) */
function migrationsIn(schema: string): readonly Migration[] {
  return migrations.map(({ name, file }) => {
    const text = readFileSync(new URL(file, import.meta.url), 'utf8');
    return { name, statements: [text.replaceAll('@schema@', () => schema)] };
  });
}

/** Matches the functions of a migration: name, and the body between the dollar signs. */
const FUNCTION = /^create (?:or replace )?function @schema@\.(\w+)[^$]*\$\$(.*?)\$\$/gms;

/** The body of each function as the migrations make it. @param schema its name, not quoted */
export function functionBodies(schema: string): ReadonlyMap<string, string> {
  const statements = migrations.map(({ file }) => readFileSync(new URL(file, import.meta.url), 'utf8'));
  const found = statements.flatMap((text) => [...text.matchAll(FUNCTION)]);
  return new Map(
    found.map(([, name = '', body = '']) => [name, body.replaceAll('@schema@', () => pg.escapeIdentifier(schema))]),
  );
}

const hasTable = { name: 'has_migrations', text: `select to_regclass('${MIGRATIONS_TABLE}') is not null as there` };
const appliedNames = { name: 'applied_migrations', text: `select name from ${MIGRATIONS_TABLE}` };

/** Reads which migrations were applied. Changes nothing. */
export async function readSchemaStatus(run: Run): Promise<SchemaStatus> {
  const { rows } = await run<{ there: boolean }>(hasTable);
  if (rows[0]?.there !== true) return 'absent';
  const applied = await run<{ name: string }>(appliedNames);
  return compareSchema(
    applied.rows.map((row) => row.name),
    migrations,
  );
}

/** The oldest server version that the functions and partitions support. */
const OLDEST_SERVER = 150_000;

export async function migratePostgres(options: MigrationOptions): Promise<readonly string[]> {
  const connectionString = await primaryOf(options.connectionString, 'migrating');
  await refuseSharedSessions(connectionString, 'migrating');
  const knex = createKnex({
    client: 'pg',
    connection: {
      connectionString,
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
    throw asUnavailable(error, connectionString);
  } finally {
    await knex.destroy();
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
  await transaction.raw(`select ${identifier(schema)}.create_ledger_partitions(?::timestamptz, ?::integer)`, [
    bindInstant(options.now),
    options.monthsAhead,
  ]);
  await grantToServingRole(transaction, schema, options.servingRole);
  return applied;
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

/** Creates the ledger's partitions, one for each month. `migrate` runs it, and the service does every hour. */

const create = { name: 'create_ledger_partitions', text: 'select create_ledger_partitions($1, $2)' };

/** Returns `ledger_2026_11` for any instant of that month in UTC. */
export function partitionOf(instant: Instant): string {
  return `ledger_${toMillisecondText(instant).slice(0, 7).replace('-', '_')}`;
}

export async function createPartitions(run: Run, now: Instant, monthsAhead: number): Promise<void> {
  await run(create, [bindInstant(now), monthsAhead]);
}
