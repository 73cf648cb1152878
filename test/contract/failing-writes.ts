/** Lets writes to a table fail, as on a full disk, and runs SQL that the database must refuse. */

import { expect } from 'chai';
import { tables } from '../../adapters/storage/tables.ts';
import type { OutsideConnection, TestDatabase } from '../support/databases.ts';

const INJECTED = 'a failure that a test injected';

/** Expects each statement to fail with an error that matches. */
export async function expectSqlErrors(
  outside: OutsideConnection,
  statements: readonly string[],
  error: RegExp,
): Promise<void> {
  for (const statement of statements) {
    const thrown = await outside.sql(statement).catch((thrown: unknown) => thrown);
    expect(String(thrown), statement).to.match(error);
  }
}

/** A write that fails. With `swallowed`, the database passes over the rows and reports no error. */
export interface Fault {
  readonly table: string;
  readonly on?: 'insert' | 'update' | 'delete';
  readonly swallowed?: boolean;
  /** Only writes of rows that meet this condition, in SQL, fail. */
  readonly when?: string;
}

/** Runs `act` while every `on` (insert, update or delete) of the table fails. */
export async function whileWritesFail<Answer>(
  { engine }: TestDatabase,
  outside: OutsideConnection,
  { table, on = 'insert', swallowed = false, when = 'true' }: Fault,
  act: () => Promise<Answer>,
): Promise<Answer> {
  const body = `${on} on ${table} for each row when (${when})`;
  if (engine === 'sqlite') {
    const raise = swallowed ? 'ignore' : `abort, '${INJECTED}'`;
    await outside.sql(`create trigger injected before ${body} begin select raise(${raise}); end`);
  } else {
    await outside.sql(
      `create or replace function injected() returns trigger language plpgsql as
        $$ begin ${swallowed ? 'return null' : `raise exception '${INJECTED}'`}; end $$`,
    );
    await outside.sql(`create trigger injected before ${body} execute function injected()`);
  }
  try {
    return await act();
  } finally {
    // Postgres locks the partitions of the ledger before the ledger itself to drop a trigger, and for a query the other way round.
    if (engine === 'postgres') await outside.sql(`begin; lock table ${table} in access exclusive mode`);
    await outside.sql(engine === 'sqlite' ? 'drop trigger injected' : `drop trigger injected on ${table}; commit`);
  }
}

/** Every table that a decision can change, with its key. */
export const CHANGED: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(Object.values(tables).map(({ name, key }) => [name, key])),
  sessions: ['session_hash'],
  operator_acts: ['seq'],
  ledger: ['seq'],
  outbox: ['seq'],
};

export type Rows = Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>;

/** More than a decision or the parts of a world write. */
const NEWEST = 40;

/** The rows of these tables; of those that are numbered, the newest. */
export async function allRows(outside: OutsideConnection): Promise<Rows> {
  const contents: Record<string, Rows[string]> = {};
  for (const [table, key] of Object.entries(CHANGED)) {
    const order = key[0] === 'seq' ? `seq desc limit ${NEWEST}` : key.join(', ');
    contents[table] = await outside.sql(`select * from ${table} order by ${order}`);
  }
  return contents;
}

/** The writes between two states of the tables. */
export function writesBetween(before: Rows, after: Rows): readonly Fault[] {
  return Object.entries(CHANGED).flatMap(([table, key]): readonly Fault[] => {
    const byKey = (rows: Rows[string] = []) =>
      new Map(rows.map((row) => [key.map((name) => String(row[name])).join(' '), JSON.stringify(row)]));
    const [old, now] = [byKey(before[table]), byKey(after[table])];
    const isNumbered = key[0] === 'seq';
    const inserted = [...now.keys()].some((name) => !old.has(name));
    const updated = [...now].some(([name, row]) => old.has(name) && old.get(name) !== row);
    const deleted = !isNumbered && [...old.keys()].some((name) => !now.has(name));
    return [
      ...(inserted ? [{ table }] : []),
      ...(updated ? [{ table, on: 'update' as const }] : []),
      ...(deleted ? [{ table, on: 'delete' as const }] : []),
    ];
  });
}

/** Deletes the rows of earlier tests, of all tables but the numbered ones, which only grow: comparing all rows costs most. */
export async function deleteEarlierRows(outside: OutsideConnection): Promise<void> {
  const numbered = Object.entries(CHANGED).flatMap(([table, key]) => (key[0] === 'seq' ? [table] : []));
  // In reverse, since a row of a task is referred to by those of its tokens.
  const others = Object.keys(CHANGED).filter((table) => !numbered.includes(table));
  for (const table of others.toReversed()) await outside.sql(`delete from ${table}`);
}
