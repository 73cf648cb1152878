/** Fills the tables of a started service by SQL, as if it had run for a long time. */

import Database from 'better-sqlite3';
import pg from 'pg';
import type { Started } from './testbed.ts';

/** The columns and values of each table's rows. */
export type Tables = Readonly<Record<string, readonly [columns: string, values: string]>>;

/**
 * Inserts rows. In the values `$n` is a row's number from 1, `$now` and `$later` are instants, and `$random` 64 hex digits.
 *
 * @param more statements to run after them
 */
export async function fillTables(
  { postgresUri, sqliteFile }: Started,
  rows: number,
  tables: Tables,
  more: readonly string[] = [],
): Promise<void> {
  const [numbers, words] =
    sqliteFile === undefined
      ? [
          `generate_series(1, ${rows}::bigint) as number`,
          { now: 'now()', later: `now() + interval '1 day'`, random: `encode(sha256(number::text::bytea), 'hex')` },
        ]
      : [
          `(with recursive up (number) as (values (1) union all select number + 1 from up where number < ${rows})
            select number from up)`,
          {
            now: `${Date.now() * 1000}`,
            later: `${(Date.now() + 86_400_000) * 1000}`,
            random: 'lower(hex(randomblob(32)))',
          },
        ];
  const inserts = Object.entries(tables).map(([table, [columns, values]]) => {
    const chosen = values
      .replaceAll('$now', words.now)
      .replaceAll('$later', words.later)
      .replaceAll('$random', words.random)
      .replaceAll('$n', 'number');
    return `insert into ${table} (${columns}) select ${chosen} from ${numbers}`;
  });
  const sql = [...inserts, ...more];
  if (sqliteFile !== undefined) {
    const file = new Database(sqliteFile);
    for (const statement of sql) file.exec(statement);
    file.pragma('wal_checkpoint(truncate)');
    file.close();
    return;
  }
  const client = new pg.Client({ connectionString: postgresUri });
  await client.connect();
  for (const statement of sql) await client.query(statement);
  await client.query('vacuum analyze');
  await client.query('checkpoint');
  await client.end();
}
