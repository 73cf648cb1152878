import { expect } from 'chai';
import { schemaInMemory } from '../../../adapters/storage/sqlite/migrate.ts';
import { type ColumnType, POSTGRES_TYPES, type Table, tables } from '../../../adapters/storage/tables.ts';
import { freshDatabase } from '../../support/databases.ts';

const SQLITE_TYPES: Readonly<Record<ColumnType, string>> = {
  text: 'TEXT',
  json: 'TEXT',
  integer: 'INTEGER',
  bigint: 'INTEGER',
  boolean: 'INTEGER',
  instant: 'INTEGER',
};

/** A table as a schema has it. */
function expected({ key, columns }: Table, types: Readonly<Record<ColumnType, string>>) {
  return {
    columns: Object.entries(columns).map(([name, type]) => `${name} ${types[type].toLowerCase()}`),
    key: [...key],
  };
}

describe('The tables of facts and effects', () => {
  it('have the columns and keys of the SQLite schema, in its order', () => {
    const schema = schemaInMemory();
    for (const table of Object.values(tables)) {
      const found = schema
        .prepare<{ name: string; type: string; pk: number }>(
          `select name, type, pk from pragma_table_info('${table.name}')`,
        )
        .all();
      const key = found.filter(({ pk }) => pk > 0).sort((one, other) => one.pk - other.pk);
      const columns = found.map(({ name, type }) => `${name} ${type.toLowerCase()}`);
      expect({ columns, key: key.map(({ name }) => name) }, table.name).to.deep.equal(expected(table, SQLITE_TYPES));
    }
    schema.close();
  });

  it('have the columns and keys of the Postgres schema, in its order', async () => {
    const database = await freshDatabase('postgres');
    const connection = await database.outside?.('owner');
    for (const table of Object.values(tables)) {
      const found = await connection?.sql(`select attname as name, format_type(atttypid, null) as type,
          array_position(conkey, attnum) as nth
        from pg_attribute left join pg_constraint on conrelid = attrelid and contype = 'p'
        where attrelid = '${table.name}'::regclass and attnum > 0 order by attnum`);
      const rows = (found ?? []).map(({ name, type, nth }) => ({
        name: String(name),
        type: String(type).replace('timestamp with time zone', 'timestamptz'),
        nth: nth === null ? 0 : Number(nth),
      }));
      const key = rows.filter(({ nth }) => nth > 0).sort((one, other) => one.nth - other.nth);
      const columns = rows.map(({ name, type }) => `${name} ${type}`);
      expect({ columns, key: key.map(({ name }) => name) }, table.name).to.deep.equal(expected(table, POSTGRES_TYPES));
    }
    await connection?.close();
    await database.drop();
  });
});
