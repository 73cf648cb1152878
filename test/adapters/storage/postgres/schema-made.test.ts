import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import pg from 'pg';
import { migrationsIn } from '../../../../adapters/storage/postgres/migrate.ts';
import { schemaItemsQuery, withoutSchema } from '../../../../adapters/storage/postgres/schema-items.ts';
import { SCHEMA_MADE } from '../../../../adapters/storage/postgres/schema-made.ts';
import type { SchemaItem } from '../../../../adapters/storage/rows/schema-items.ts';
import { postgresServer, SUPERUSER } from '../../../support/postgres-server.ts';

const FILE = fileURLToPath(new URL('../../../../adapters/storage/postgres/schema-made.ts', import.meta.url));

const HEAD = `/**
 * The items of the schema that the migrations make on Postgres: kind, table or function, name, definition. A test compares the
 * list with a fresh migration, and writes it with MANDATE_WRITE_SQL=1.
 */

export const SCHEMA_MADE: readonly (readonly [kind: string, of: string, name: string, is: string])[] = `;

describe('The list of what the migrations make on Postgres', () => {
  it('is that of a fresh migration', async function () {
    this.timeout(60_000);
    const made = await itemsMade();
    if (process.env.MANDATE_WRITE_SQL === '1') writeFileSync(FILE, `${HEAD}${JSON.stringify(made, undefined, 2)};\n`);
    else expect(made).to.deep.equal(SCHEMA_MADE);
  });
});

/** Applies the migrations alone: `mandate migrate` refuses a schema that differs from the list, which then cannot be written. */
async function itemsMade(): Promise<readonly (readonly [string, string, string, string])[]> {
  const server = await postgresServer();
  const name = `mandate_made_${process.pid}`;
  const first = await connected(server.url(SUPERUSER, 'postgres'));
  await first.query(`create database ${name} template template0`);
  const fresh = await connected(server.url(SUPERUSER, name));
  for (const { statements } of migrationsIn('"public"')) {
    for (const statement of statements) await fresh.query(statement);
  }
  const { rows } = await fresh.query<SchemaItem>(schemaItemsQuery("'public'::regnamespace"));
  await fresh.end();
  await first.query(`drop database ${name}`);
  await first.end();
  return withoutSchema(rows, 'public').map(({ kind, of, name: part, is }) => [kind, of, part, is] as const);
}

async function connected(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  return client;
}
