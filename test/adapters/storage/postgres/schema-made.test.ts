import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { schemaItemsQuery, withoutSchema } from '../../../../adapters/storage/postgres/schema-items.ts';
import { SCHEMA_MADE } from '../../../../adapters/storage/postgres/schema-made.ts';
import type { SchemaItem } from '../../../../adapters/storage/rows/schema-items.ts';
import { connectOutside, postgres } from '../../../support/databases.ts';

const FILE = fileURLToPath(new URL('../../../../adapters/storage/postgres/schema-made.ts', import.meta.url));

const HEAD = `/**
 * The items of the schema that the migrations make on Postgres: kind, table or function, name, definition. A test compares the
 * list with a fresh migration, and writes it with MANDATE_WRITE_SQL=1.
 */

export const SCHEMA_MADE: readonly (readonly [kind: string, of: string, name: string, is: string])[] = `;

describe('The list of what the migrations make on Postgres', () => {
  it('is that of a fresh migration', async function () {
    this.timeout(60_000);
    const database = await postgres.fresh();
    const outside = await connectOutside(database);
    const rows = await outside.sql(schemaItemsQuery("'public'::regnamespace"));
    await outside.close();
    await database.drop();
    const items = withoutSchema(rows as unknown as readonly SchemaItem[], 'public');
    const made = items.map(({ kind, of, name, is }) => [kind, of, name, is] as const);
    if (process.env.MANDATE_WRITE_SQL === '1') writeFileSync(FILE, `${HEAD}${JSON.stringify(made, undefined, 2)};\n`);
    else expect(made).to.deep.equal(SCHEMA_MADE);
  });
});
