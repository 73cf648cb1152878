/**
 * Applies the schema with Knex's migrator, from a list of modules: a compiled build has no directory to scan. It runs in
 * the caller's transaction. The migrator's lock row is part of it, so a crash rolls that row back too.
 */

import type { Knex } from 'knex';
import type { ReadinessCheck } from '../../../application/ports/runtime.ts';
import type { SchemaStatus } from '../../../application/ports/storage.ts';

export interface Migration {
  /** Sorts after the names of all earlier migrations. A released name never changes. */
  readonly name: string;
  /** No statement holds a `?`, which Knex would read as a parameter. */
  readonly statements: readonly string[];
}

export const MIGRATIONS_TABLE = 'schema_migrations';

/**
 * @param transaction holds the engine's lock against concurrent migrations
 * @param schema holds the table of migrations; it need not be in the search path
 */
export async function applyMigrations(
  transaction: Knex.Transaction,
  schema: string,
  migrations: readonly Migration[],
): Promise<readonly string[]> {
  if (await transaction.schema.withSchema(schema).hasTable(MIGRATIONS_TABLE)) {
    const names: string[] = await transaction(MIGRATIONS_TABLE).withSchema(schema).pluck('name');
    if (compareSchema(names, migrations) === 'ahead') throw new Error(NEWER_SCHEMA);
  }
  const applied: [batch: number, names: string[]] = await transaction.migrate.latest({
    tableName: MIGRATIONS_TABLE,
    schemaName: schema,
    migrationSource: sourceOf(migrations),
  });
  return applied[1];
}

function sourceOf(migrations: readonly Migration[]): Knex.MigrationSource<Migration> {
  return {
    getMigrations: async () => [...migrations],
    getMigrationName: (migration) => migration.name,
    getMigration: async (migration) => ({
      up: async (knex) => {
        for (const statement of migration.statements) await knex.raw(statement);
      },
      down: async () => {
        throw new Error('Migrations only go forward.');
      },
    }),
  };
}

/** @param applied the names in the database's table of migrations */
export function compareSchema(
  applied: readonly string[],
  migrations: readonly Pick<Migration, 'name'>[],
): SchemaStatus {
  const known = new Set(migrations.map((migration) => migration.name));
  const have = new Set(applied);
  if (applied.some((name) => !known.has(name))) return 'ahead';
  if (migrations.every((migration) => have.has(migration.name))) return 'current';
  return have.size === 0 ? 'absent' : 'behind';
}

export const NEWER_SCHEMA = 'The database was migrated by a newer release of mandate; this one cannot change it.';

/** For comparing a definition with its migration: both may be formatted in different ways. */
export function evenlySpaced(sql: string): string {
  return sql.replace(/\s+/g, ' ').trim();
}

/** What `mandate doctor` says of an object on our tables that could change what is written or read. */
export const IS_FOREIGN = 'is not of the migrations';

type Verdict = Awaited<ReturnType<ReadinessCheck['check']>>;

/**
 * The answer of `/readyz` about the schema. A schema newer than this release leaves the replica ready, because migrations
 * keep older replicas working during a rollout.
 */
export function describeSchema(status: SchemaStatus): Verdict {
  switch (status) {
    case 'current':
      return { status: 'Healthy', detail: 'The database answers.' };
    case 'ahead':
      return { status: 'Degraded', detail: 'The database was migrated by a newer release.' };
    case 'absent':
    case 'behind':
      return { status: 'Unhealthy', detail: 'The schema is not current; run `mandate migrate`.' };
  }
}

/** Keeps Knex from writing to standard output, which holds the service's log. Knex also throws every error. */
export const silentKnex: Knex.Logger = {
  warn: () => undefined,
  error: () => undefined,
  deprecate: () => undefined,
  debug: () => undefined,
};
