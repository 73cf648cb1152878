/** Which migrations a Postgres database has seen, read without changing anything. */

import { compareSchema, MIGRATIONS_TABLE } from '../rows/migrations.ts';
import type { SchemaStatus } from '../storage.ts';
import type { Connections } from './connections.ts';
import { migrations } from './migrations/migrations.ts';

const hasTable = { name: 'has_migrations', text: `select to_regclass('${MIGRATIONS_TABLE}') is not null as there` };

export async function readSchemaStatus({ knex, run }: Connections): Promise<SchemaStatus> {
  const { rows } = await run<{ there: boolean }>(hasTable);
  if (rows[0]?.there !== true) return 'absent';
  const applied = await run<{ name: string }>(knex.select('name').from(MIGRATIONS_TABLE));
  return compareSchema(
    applied.rows.map((row) => row.name),
    migrations,
  );
}
