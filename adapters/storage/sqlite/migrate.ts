/** Reads the schema's state in a SQLite database, and applies migrations (`mandate migrate`). */

import { readFileSync } from 'node:fs';
import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import type { SchemaStatus } from '../../../application/ports/storage.ts';
import { compareSchema, MIGRATIONS_TABLE, NEWER_SCHEMA } from '../rows/migrations.ts';
import { type SchemaItem, schemaDiffers } from '../rows/schema-items.ts';
import type { Connection } from './connection.ts';
import { isBusy } from './errors.ts';
import { type Handle, openHandle, type Run } from './handle.ts';
import { MIGRATION_LIMIT_MS } from './limits.ts';
import { sqliteDifferences } from './schema-items.ts';

/** Migrations in the order in which they are applied. */
const migrations = [{ name: '0001-schema', file: '../sqlite/schema.sql' }] as const;

/** Another application's database may have a table of this name, but without this column. */
const findTable = "select 1 from pragma_table_info(?) where name = 'name'";
const createTable = `create table if not exists ${MIGRATIONS_TABLE} (name text primary key, batch integer) strict`;
const selectNames = `select name from ${MIGRATIONS_TABLE}`;
const insertName = `insert into ${MIGRATIONS_TABLE} (name, batch)
  select ?, coalesce(max(batch), 0) + 1 from ${MIGRATIONS_TABLE}`;

/** "MNDT" marks the file as a Mandate database. */
const APPLICATION_ID = 0x4d4e4454;

/** Reads which migrations were applied. Changes nothing. */
export function readSchemaStatus({ read }: Connection): Promise<SchemaStatus> {
  return read((run) => compareSchema(appliedNames(run), migrations));
}

/** Applies all pending migrations in one transaction. Waits while another process migrates. */
export async function migrateSqlite(connection: Connection): Promise<readonly string[]> {
  const deadline = performance.now() + MIGRATION_LIMIT_MS;
  for (;;) {
    try {
      return await connection.write((run) => migrateIn(connection, run));
    } catch (error) {
      const cause = error instanceof StorageUnavailable ? error.cause : error;
      if (!isBusy(cause) || performance.now() > deadline) throw error;
    }
  }
}

function migrateIn(connection: Connection, run: Run): readonly string[] {
  const applied = appliedNames(run);
  if (compareSchema(applied, migrations) === 'ahead') throw new Error(NEWER_SCHEMA);
  const pending = migrations.filter(({ name }) => !applied.includes(name));
  if (pending.length > 0) {
    connection.script(`pragma application_id = ${APPLICATION_ID}`);
    connection.script(createTable);
  }
  for (const { name, file } of pending) {
    connection.script(readFileSync(new URL(file, import.meta.url), 'utf8'));
    run(insertName, [name]);
  }
  const differences = differencesIn(run);
  if (differences.length > 0) throw schemaDiffers(differences);
  return pending.map(({ name }) => name);
}

/** A new database in memory with the schema of this release. */
export function schemaInMemory(): Handle {
  const handle = openHandle(':memory:');
  for (const { file } of migrations) handle.exec(readFileSync(new URL(file, import.meta.url), 'utf8'));
  return handle;
}

/** How the schema differs from the one that the migrations make. @param isCompared leaves items out */
export function differencesIn(run: Run, isCompared: (item: SchemaItem) => boolean = () => true): readonly string[] {
  const schema = schemaInMemory();
  try {
    const made = <Row>(sql: string) => {
      const rows = schema.prepare<Row>(sql).all();
      return { rows, count: rows.length };
    };
    return sqliteDifferences(run, made, isCompared);
  } finally {
    schema.close();
  }
}

function appliedNames(run: Run): readonly string[] {
  if (run(findTable, [MIGRATIONS_TABLE]).count === 0) return [];
  return run<{ name: string }>(selectNames).rows.map(({ name }) => name);
}
