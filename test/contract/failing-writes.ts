/** Lets writes to a table fail, as on a full disk, and runs SQL that the database must refuse. */

import { expect } from 'chai';
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

/** Runs `act` while every `on` (insert, update or delete) of the table fails. */
export async function whileWritesFail<Answer>(
  { engine }: TestDatabase,
  outside: OutsideConnection,
  { table, on = 'insert' }: { table: string; on?: 'insert' | 'update' | 'delete' },
  act: () => Promise<Answer>,
): Promise<Answer> {
  const body = `${on} on ${table} for each row`;
  if (engine === 'sqlite') {
    await outside.sql(`create trigger injected before ${body} begin select raise(abort, '${INJECTED}'); end`);
  } else {
    await outside.sql(
      `create or replace function injected() returns trigger language plpgsql as
        $$ begin raise exception '${INJECTED}'; end $$`,
    );
    await outside.sql(`create trigger injected before ${body} execute function injected()`);
  }
  try {
    return await act();
  } finally {
    await outside.sql(`drop trigger injected${engine === 'sqlite' ? '' : ` on ${table}`}`);
  }
}

/** The rows of all tables that a decision can change. */
export async function allRows(outside: OutsideConnection): Promise<unknown> {
  const contents: Record<string, unknown> = {};
  for (const table of [
    'agents',
    'tasks',
    'task_grants',
    'sponsor_blocks',
    'provisioned_users',
    'revoked_tokens',
    'spent_assertions',
    'accepted_signals',
    'logouts',
    'sessions',
  ]) {
    contents[table] = await outside.sql(`select * from ${table} order by 1, 2`);
  }
  for (const table of ['ledger', 'outbox']) contents[table] = await outside.sql(`select * from ${table} order by seq`);
  return contents;
}
