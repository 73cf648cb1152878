/** Which migrations a SQLite database has seen, read without changing anything. */

import { compareSchema, MIGRATIONS_TABLE } from '../rows/migrations.ts';
import type { SchemaStatus } from '../storage.ts';
import type { Connections } from './connections.ts';
import { migrations } from './migrations/migrations.ts';

/** By its column too: others call a table so, and put something else in it. */
const findTable = "select 1 from pragma_table_info(?) where name = 'name'";

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
