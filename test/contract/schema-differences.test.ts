import { expect } from 'chai';
import { openPostgresCondition } from '../../adapters/storage/postgres/condition.ts';
import { schemaMade } from '../../adapters/storage/postgres/schema-items.ts';
import type { SchemaItem } from '../../adapters/storage/rows/schema-items.ts';
import { schemaInMemory } from '../../adapters/storage/sqlite/migrate.ts';
import { openSqliteCondition } from '../../adapters/storage/sqlite/open-ledger.ts';
import { readSchemaItems } from '../../adapters/storage/sqlite/schema-items.ts';
import { StorageUnavailable } from '../../application/ports/decisions.ts';
import { capturedLog } from '../support/captured-log.ts';
import { connectOutside, databases, type FreshDatabase } from '../support/databases.ts';

function itemsOfSqlite(): readonly SchemaItem[] {
  const schema = schemaInMemory();
  const items = readSchemaItems((sql) => {
    const rows = schema.prepare<never>(sql).all();
    return { rows, count: rows.length };
  });
  schema.close();
  return items;
}

for (const kind of databases) {
  const isPostgres = kind.engine === 'postgres';
  const items = isPostgres ? schemaMade : itemsOfSqlite();
  const named = (of: SchemaItem, what: string) =>
    `the ${of.kind} ${of.name === '' ? of.of : `${of.name} of the table ${of.of}`} ${what}`;
  const tables = items.filter((item) => item.kind === 'table' && item.is !== 'a type');
  const isOfTable = (item: SchemaItem) => tables.some(({ of }) => of === item.of);

  describe(`A schema that is not as the migrations make it, on ${kind.name}`, function () {
    this.timeout(60_000);
    let database: FreshDatabase;
    beforeEach(async () => {
      database = await kind.fresh();
    });
    afterEach(() => database.drop());

    const change = async (...statements: readonly string[]) => {
      const outside = await connectOutside(database);
      for (const statement of statements) await outside.sql(statement);
      await outside.close();
    };
    const toDoctor = async (): Promise<readonly string[]> => {
      const { settings } = database;
      const condition = isPostgres
        ? await openPostgresCondition(String(settings['Service:Database:ConnectionString']), capturedLog())
        : await openSqliteCondition(String(settings['Service:Database:Path']));
      try {
        const guards = (await condition.guards().catch(() => undefined))?.missing ?? [];
        return [...(await condition.schemaDifferences()), ...guards.map(({ table, what }) => `${what} (${table})`)];
      } finally {
        await condition.close();
      }
    };
    const toMigrate = async (): Promise<string> => {
      const storage = await database.open();
      const thrown: unknown = await storage.migrate().catch((error: unknown) => error);
      await storage.close();
      return thrown instanceof StorageUnavailable ? (thrown.fault?.meaning ?? 'unknown') : 'done';
    };
    const expectNamed = async (wanted: readonly string[]) => {
      const found = await toDoctor();
      const message = await toMigrate();
      expect(message).to.include('nothing was changed');
      expect(wanted).to.not.be.empty;
      for (const one of wanted) {
        expect(found).to.include(one);
        expect(message).to.include(one);
      }
    };
    const expectFine = async () => {
      expect(await toDoctor()).to.deep.equal([]);
      expect(await toMigrate()).to.equal('done');
    };

    it('is not what a fresh migration leaves, nor an index, table or view of the operator', async () => {
      await expectFine();
      await change(
        'create index of_the_operator on tasks (sponsor, audience)',
        'create index on_the_ledger on ledger (jti)',
        'create table of_the_operator_too (name text primary key)',
        'create view shown_to_the_operator as select task_id from tasks',
        'drop index tasks_by_agent',
      );
      await expectFine();
      await change('drop view shown_to_the_operator');
    });

    it('names each column that was renamed, and the new name', async () => {
      const columns = items.filter((item) => item.kind === 'column' && isOfTable(item));
      expect(columns.length).to.be.greaterThan(150);
      // The sequence of the ledger follows its column.
      await change(
        ...columns.map(({ of, name }) => `alter table ${of} rename column "${name}" to "${name}_elsewhere"`),
      );
      await expectNamed(columns.map((column) => named(column, 'is missing')));
      await expectNamed(
        columns.map((column) => named({ ...column, name: `${column.name}_elsewhere` }, 'is not of the migrations')),
      );
    });

    it('names each table that was dropped', async () => {
      const dropped = tables.filter(({ of }) => of !== 'ledger');
      await change(
        ...(isPostgres ? [] : ['pragma foreign_keys = off']),
        ...dropped.map(({ of }) => `drop table ${of} ${isPostgres ? 'cascade' : ''}`),
      );
      const found = isPostgres ? await toMigrate() : (await toDoctor()).join('; ');
      for (const table of dropped) expect(found).to.include(named(table, 'is missing'));
      expect(await toMigrate()).to.include(`the table ${dropped[0]?.of} is missing`);
    });

    it('names each unique index, and each trigger, that was dropped', async () => {
      const unique = items.filter((item) => item.kind === 'unique index');
      await change(...unique.map(({ name }) => `drop index ${name}`));
      await expectNamed(unique.map((item) => named(item, 'is missing')));
      const triggers = items.filter((item) => item.kind === 'trigger');
      expect(triggers.length).to.be.greaterThan(3);
      await change(...triggers.map(({ of, name }) => `drop trigger ${name}${isPostgres ? ` on ${of}` : ''}`));
      const message = await toMigrate();
      for (const trigger of triggers) expect(message).to.include(named(trigger, 'is missing'));
    });

    it('names a trigger, and a unique index, that no migration makes', async () => {
      const body = isPostgres
        ? 'before insert on sessions for each row execute function skipping()'
        : 'before insert on sessions begin select raise(ignore); end';
      await change(
        ...(isPostgres
          ? ["create function skipping() returns trigger language plpgsql as 'begin return null; end'"]
          : []),
        `create trigger skipping ${body}`,
        'create unique index only_one on sessions (iss)',
      );
      expect(await toMigrate()).to.include('the trigger skipping of the table sessions is not of the migrations');
      await expectNamed(['the unique index only_one of the table sessions is not of the migrations']);
      expect((await toDoctor()).join()).to.include('trigger skipping');
    });

    if (isPostgres) {
      it('names what a month lacks or has more: unique indexes, constraints, triggers', async () => {
        const months = await connectOutside(database);
        const [first, second, third] = (
          await months.sql(
            "select inhrelid::regclass::text as name from pg_inherits where inhparent = 'ledger'::regclass order by 1",
          )
        ).map(({ name }) => String(name));
        await months.close();
        await change(
          `drop index ${first}_by_seq`,
          `drop index ${second}_by_seq`,
          `create unique index ${second}_by_seq on ${second} (seq) where seq > 100`,
          `create unique index only_one on ${third} (event, seq)`,
          `create index of_the_operator on ${third} (jti)`,
          `alter table ${first} add constraint few check (seq < 5)`,
        );
        await expectNamed([
          `the unique index ${first}_by_seq of the table ${first} is missing`,
          `the unique index ${second}_by_seq of the table ${second} is not as the migrations make it`,
          `the unique index only_one of the table ${third} is not of the migrations`,
          `the constraint few of the table ${first} is not of the migrations`,
        ]);
        expect((await toDoctor()).length).to.equal(4);
        // Doctor names these as guards that are missing.
        await change(
          `alter table ${first} disable trigger ledger_append_only_rows`,
          `drop trigger ledger_append_only on ${second}`,
        );
        const message = await toMigrate();
        expect(message).to.include(`trigger ledger_append_only_rows of the table ${first} is not as the migrations`);
        expect(message).to.include(`the trigger ledger_append_only of the table ${second} is missing`);
        expect((await toDoctor()).length).to.equal(6);
      });

      it('names each constraint that was dropped', async () => {
        const constraints = items.filter((item) => item.kind === 'constraint');
        await change(
          ...constraints.map(({ of, name }) => `alter table ${of} drop constraint if exists ${name} cascade`),
        );
        await expectNamed(constraints.map((item) => named(item, 'is missing')));
      });

      it('names each column that may be null, or has lost its default', async () => {
        const keys = items.filter((item) => item.is.startsWith('PRIMARY KEY'));
        const isKey = ({ of, name }: SchemaItem) =>
          keys.some((key) => key.of === of && key.is.match(/\w+/g)?.includes(name));
        const columns = items.filter((item) => item.is.includes('not null') && isOfTable(item) && !isKey(item));
        await change(
          ...columns.map(({ of, name }) => `alter table ${of} alter column "${name}" drop not null`),
          ...columns
            .filter(({ is }) => is.includes('default'))
            .map(({ of, name }) => `alter table ${of} alter column "${name}" drop default`),
        );
        await expectNamed(
          columns.map((column) => {
            const is = column.is.replace(' not null', '').replace(/ default .*/, '');
            return named(column, `is ${is}, and the migrations make it ${column.is}`);
          }),
        );
      });

      it('names each function that was replaced, or whose options were changed', async () => {
        const functions = items.filter((item) => item.kind === 'function');
        await change(...functions.map(({ of }) => `alter function ${of} set work_mem = '64kB'`));
        await expectNamed(functions.map((one) => named(one, 'is not as the migrations make it')));
      });

      const others = [
        [
          'alter table spent_assertions alter column jti type varchar(200)',
          /column jti .* is character varying\(200\)/,
        ],
        ['alter table tasks alter column status_index type bigint', /column status_index .* is bigint, and the/],
        [
          'alter table sessions set unlogged',
          /the table sessions is a table, unlogged, and the migrations make it a table/,
        ],
        ['alter table sessions enable row level security', /row-level security of the table sessions is not of/],
        [
          'alter table accepted_signals alter column jti type text collate "POSIX"',
          /jti .* is text collate POSIX not null/,
        ],
        [
          'alter table ledger add constraint few check (seq < 5)',
          /constraint few of the table ledger is not of the migrations/,
        ],
        ['alter table agents add column later text', /the column later of the table agents is not of the migrations/],
        [
          'create rule skipping as on insert to logouts do instead nothing',
          /rule skipping of the table logouts is not of/,
        ],
        ['alter sequence ledger_seq increment by 2', /the sequence ledger_seq is not as the migrations make it/],
        ['alter type ledger_entry drop attribute detail', /the column detail of the table ledger_entry is missing/],
      ] as const;
      // Each changes another object, so one database holds them all.
      it(`names what each of these changes: ${others.map(([statement]) => statement).join('; ')}`, async () => {
        await change(...others.map(([statement]) => statement));
        const [found, message] = [(await toDoctor()).join('; '), await toMigrate()];
        for (const [statement, what] of others) {
          expect(found, statement).to.match(what);
          expect(message, statement).to.match(what);
        }
      });
    } else {
      const made = (table: string, from: string, to: string) => {
        const schema = schemaInMemory();
        const sql = schema.prepare<{ sql: string }>(`select sql from sqlite_schema where name = '${table}'`).get()?.sql;
        schema.close();
        expect(sql).to.include(from);
        return [`drop table ${table}`, String(sql).replace(from, to)];
      };
      const others = [
        [
          'spent_assertions',
          'jti text',
          'jti integer',
          /column jti .* is integer not null number 2 of the primary key, and the/,
        ],
        ['sessions', 'sub text not null', 'sub text', /the column sub of the table sessions is text, and the/],
        ['approvals', 'references tasks', '', /the foreign key task_id of the table approvals is missing/],
        ['provisioned_users', 'not null unique', 'not null', /unique constraint on \(user_name_key\) .* is missing/],
        [
          'accepted_signals',
          "'logout', ",
          '',
          /the definition with its checks of the table accepted_signals is not as/,
        ],
        [
          'tasks',
          ') strict, without rowid',
          ') strict',
          /the table tasks is strict, with rowid, and the migrations make it/,
        ],
        [
          'revoked_tokens',
          ') strict, without rowid',
          ') without rowid',
          /revoked_tokens is not strict, without rowid, and the/,
        ],
        [
          'task_grants',
          'renewals integer not null default 0',
          'renewals integer not null default 1',
          /renewals .* default 1/,
        ],
      ] as const;
      // Each is another table, so one database holds them all.
      it(`names each other definition: ${others.map(([table, from, to]) => `${table} with "${to}" in place of "${from}"`).join('; ')}`, async () => {
        await change('pragma foreign_keys = off', ...others.flatMap(([table, from, to]) => made(table, from, to)));
        const [found, message] = [(await toDoctor()).join('; '), await toMigrate()];
        for (const [table, , , what] of others) {
          expect(found, table).to.match(what);
          expect(message, table).to.match(what);
        }
      });
    }
  });
}
