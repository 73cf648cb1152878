import { expect } from 'chai';
import { schemaInMemory } from '../../../adapters/storage/sqlite/migrate.ts';
import {
  allTables,
  appendOnlyTables,
  type Column,
  type ColumnType,
  type Table,
  tablesOf,
  typeOf,
} from '../../../adapters/storage/tables.ts';

const SQLITE_TYPES: Readonly<Record<ColumnType, string>> = {
  text: 'TEXT',
  key: 'TEXT',
  json: 'TEXT',
  integer: 'INTEGER',
  bigint: 'INTEGER',
  boolean: 'INTEGER',
  instant: 'INTEGER',
};

/** SQLite has no partitions, whose keys need the time. */
const KEYS: Readonly<Record<string, readonly string[]>> = { ledger: ['seq'] };

/** `postgres/schema-made.test.ts` compares them with the schema of Postgres. */
describe('The tables', () => {
  const schema = schemaInMemory();
  after(() => schema.close());

  it('are those of the SQLite schema, with its columns in its order, and its keys', () => {
    const names = schema.prepare<{ name: string }>(
      "select name from sqlite_schema where type = 'table' and name not glob 'sqlite_*'",
    );
    expect(allTables.map(({ name }) => name)).to.have.members(names.all().map(({ name }) => name));
    for (const table of allTables) {
      const { name, columns, key } = table;
      const found = schema
        .prepare<{ name: string; type: string; pk: number; notnull: number }>(
          `select name, type, pk, "notnull" from pragma_table_info('${name}')`,
        )
        .all();
      const keyFound = found.filter(({ pk }) => pk > 0).sort((one, other) => one.pk - other.pk);
      expect(
        keyFound.map((column) => column.name),
        name,
      ).to.deep.equal(KEYS[name] ?? key);
      const written = ({ pk, notnull, ...column }: (typeof found)[number]) =>
        `${column.name} ${column.type}${pk > 0 || notnull ? '' : '?'}`;
      const wanted = Object.entries<Column>(columns).map(
        ([column, type]) => `${column} ${SQLITE_TYPES[typeOf(table, column)]}${type.endsWith('?') ? '?' : ''}`,
      );
      expect(found.map(written), name).to.deep.equal(wanted);
    }
  });

  it('belong to the table to which a foreign key refers. Rows that name a task belong to it, end by time, or stay', () => {
    for (const table of allTables) {
      const { name, columns, privileges } = table;
      const { of, until }: Partial<Table> = table;
      const keys = schema.prepare<{ table: string }>(`select "table" from pragma_foreign_key_list('${name}')`).all();
      for (const { table: parent } of keys) expect(of, name).to.equal(parent);
      const namesTask = 'task_id' in columns && name !== 'tasks';
      if (namesTask && until === undefined && !appendOnlyTables.includes(name)) expect(of, name).to.equal('tasks');
      if (of !== undefined || until !== undefined) expect(privileges, name).to.include('delete');
      const parent = allTables.find((each) => each.name === of);
      if (of !== undefined) expect(columns, name).to.include.all.keys(...(parent?.key ?? [of]));
    }
  });

  it('that belong to another come before it, so that foreign keys let rows be deleted in this order', () => {
    const names = tablesOf('tasks').map(({ name }) => name);
    expect(names).to.include.members(['task_grants', 'approval_notices']);
    for (const { name, of } of tablesOf('tasks')) {
      if (of !== 'tasks') expect(names.indexOf(name), name).to.be.lessThan(names.indexOf(String(of)));
    }
  });
});
