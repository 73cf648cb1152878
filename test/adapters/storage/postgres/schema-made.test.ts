import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import pg from 'pg';
import { migrationsIn } from '../../../../adapters/storage/postgres/migrate.ts';
import {
  schemaItemsQuery,
  schemaMade,
  tablesMade,
  withoutSchema,
} from '../../../../adapters/storage/postgres/schema-items.ts';
import type { SchemaItem } from '../../../../adapters/storage/rows/schema-items.ts';
import { postgresServer, SUPERUSER } from '../../../support/postgres-server.ts';

const FILE = fileURLToPath(new URL('../../../../adapters/storage/postgres/schema-made.json', import.meta.url));

describe('The list of what the migrations make on Postgres', () => {
  it('is that of a fresh migration', async function () {
    this.timeout(60_000);
    const made = await itemsMade();
    const ofTables = tablesMade.map(textOf);
    const beside = made.map(textOf).filter((item) => !ofTables.includes(item));
    if (process.env.MANDATE_WRITE_SQL === '1') writeFileSync(FILE, `[${beside.join(',')}]\n`);
    else expect(schemaMade).to.deep.equal(made);
  });
});

/** Applies the migrations alone: `mandate migrate` refuses a schema that differs from the list, which then cannot be written. */
async function itemsMade(): Promise<readonly SchemaItem[]> {
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
  return withoutSchema(rows, 'public');
}

function textOf({ kind, of, name, is }: SchemaItem): string {
  return JSON.stringify({ kind, of, name, is });
}

async function connected(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  return client;
}
