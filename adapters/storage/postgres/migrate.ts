/** The migrations of the schema on Postgres, which of them were applied, and the partitions of the ledger. */

import { readFileSync } from 'node:fs';
import pg from 'pg';
import type { SchemaStatus } from '../../../application/ports/storage.ts';
import { type Instant, toMillisecondText } from '../../../domain/instant.ts';
import { compareSchema, MIGRATIONS_TABLE, type Migration } from '../rows/migrations.ts';
import { bindInstant } from './column-types.ts';
import type { Run } from './pool/pool.ts';

/** Migrations in the order in which they are applied. In their files, @schema@ stands for the name of the schema. */
const migrations = [{ name: '0001-schema', file: '../postgres/schema.sql' }] as const;

/** @param schema an identifier for Knex (`identifier`) */
export function migrationsIn(schema: string): readonly Migration[] {
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

/** Creates the ledger's partitions, one for each month. `migrate` runs it, and the service does every hour. */

const create = { name: 'create_ledger_partitions', text: 'select create_ledger_partitions($1, $2)' };

/** Returns `ledger_2026_11` for any instant of that month in UTC. */
export function partitionOf(instant: Instant): string {
  return `ledger_${toMillisecondText(instant).slice(0, 7).replace('-', '_')}`;
}

export async function createPartitions(run: Run, now: Instant, monthsAhead: number): Promise<void> {
  await run(create, [bindInstant(now), monthsAhead]);
}
