/** Changes the ledger as its owner can, who may remove the triggers, and restores it. */

import type { OutsideConnection, TestDatabase } from '../databases.ts';

export interface Tampering {
  /** Runs these statements in one transaction. */
  sql(...statements: readonly string[]): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** Restores the ledger and the checkpoints. */
  undo(): Promise<void>;
}

const TABLES = ['ledger', 'checkpoints'] as const;

/** Removes the triggers, and copies both tables. */
export async function startTampering(outside: OutsideConnection, engine: TestDatabase['engine']): Promise<Tampering> {
  const lift = engine === 'sqlite' ? await sqliteGuards(outside) : POSTGRES_GUARDS;
  const sql: Tampering['sql'] = async (...statements) => {
    let rows: readonly Readonly<Record<string, unknown>>[] = [];
    await outside.sql('begin');
    for (const statement of statements) rows = await outside.sql(statement);
    await outside.sql('commit');
    return rows;
  };
  await sql(...lift, ...TABLES.map((table) => `create table ${table}_kept as select * from ${table}`));
  const undo = TABLES.flatMap((table) => [`delete from ${table}`, `insert into ${table} select * from ${table}_kept`]);
  return {
    sql,
    async undo() {
      await sql(...undo);
    },
  };
}

const POSTGRES_GUARDS = [
  ...TABLES.flatMap((table) => [
    `grant update, delete on ${table} to current_user`,
    `alter table ${table} disable trigger user`,
  ]),
  'alter table ledger drop constraint ledger_size',
  'alter table ledger drop constraint ledger_number',
];

async function sqliteGuards(outside: OutsideConnection): Promise<readonly string[]> {
  const rows = await outside.sql(
    "select name from sqlite_master where type = 'trigger' and tbl_name in ('ledger', 'checkpoints')",
  );
  return ['pragma ignore_check_constraints = on', ...rows.map(({ name }) => `drop trigger ${name}`)];
}

/**
 * Rebuilds the ledger of a SQLite file, so that two records can have one number. Its triggers are gone.
 * @param key of the new table
 */
export async function unkeyLedger(outside: OutsideConnection, key?: string): Promise<void> {
  const [made] = await outside.sql("select sql from sqlite_master where name = 'ledger'");
  const unkeyed = String(made?.sql)
    .replace('ledger', 'unkeyed')
    .replace('integer primary key autoincrement', 'integer')
    .replace(/\)[^)]*$/, (end) => (key === undefined ? end : `, ${key}${end}`));
  for (const statement of [
    unkeyed,
    'insert into unkeyed select * from ledger',
    'drop table ledger',
    'alter table unkeyed rename to ledger',
  ])
    await outside.sql(statement);
}

/** A random number generator. The same seed gives the same numbers, so that a failed edit can be repeated. */
export function seeded(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    // A linear congruential generator, whose low bits are not random enough.
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
