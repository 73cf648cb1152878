/** Which migrations a SQLite database has seen, read without changing anything. */

import { compareSchema, MIGRATIONS_TABLE } from '../sql/migrations.ts';
import type { SchemaStatus } from '../storage.ts';
import type { Connections } from './connections.ts';
import { migrations } from './migrations/migrations.ts';

const findTable = "select name from sqlite_schema where type = 'table' and name = ?";

export function readSchemaStatus({ knex, read }: Connections): Promise<SchemaStatus> {
  return read((run) => {
    if (run(findTable, [MIGRATIONS_TABLE]).count === 0) return 'absent';
    const { rows } = run<{ name: string }>(knex.select('name').from(MIGRATIONS_TABLE));
    return compareSchema(
      rows.map((row) => row.name),
      migrations,
    );
  });
}
