import { expect } from 'chai';
import { DatabaseRefusal } from '../../../../adapters/storage/database-refusal.ts';
import { migratePostgres } from '../../../../adapters/storage/postgres/apply-migrations.ts';
import { instantFromMillis } from '../../../../domain/instant.ts';
import { aRenewal, openedTask } from '../../../contract/storage-fixtures.ts';
import {
  connectOutside,
  type FreshDatabase,
  freshDatabase,
  type OutsideConnection,
} from '../../../support/databases.ts';
import { NOON } from '../../../support/domain-fixtures.ts';
import { SUPERUSER } from '../../../support/postgres-server.ts';
import type { Storage } from '../../../support/storage.ts';

/** The tests query the catalogue of Postgres, so they include functions that are added later. */
describe('the functions of the schema on Postgres', () => {
  let database: FreshDatabase;
  let owner: OutsideConnection;
  before(async function () {
    this.timeout(60_000);
    database = await freshDatabase('postgres');
    owner = await connectOutside(database, 'owner');
  });
  after(async () => {
    await owner.close();
    await database.drop();
  });

  const functionsThat = async (condition: string) => {
    const rows = await owner.sql(
      `select proname as name from pg_proc where pronamespace = 'public'::regnamespace and (${condition}) order by 1`,
    );
    return rows.map(({ name }) => name);
  };

  it('may be called by the owner and the serving role only, not by every role', async () => {
    const isOpenToAll = `exists (
      select from aclexplode(coalesce(proacl, acldefault('f', proowner))) acl
        where acl.grantee = 0 and acl.privilege_type = 'EXECUTE')`;
    expect(await functionsThat(isOpenToAll)).to.deep.equal([]);
    expect(await functionsThat(`not ${isOpenToAll}`)).to.include.members(['append_records', 'add_checkpoint']);
  });

  it('are migrated without changing the privileges of other functions in the schema', async () => {
    const superuser = await connectOutside(database, 'superuser');
    await superuser.sql('create function theirs_open() returns integer language sql as $$ select 1 $$');
    await superuser.sql('create function theirs_closed() returns integer language sql as $$ select 1 $$');
    await superuser.sql('revoke execute on function theirs_closed() from public');
    const storage = await database.open();
    await storage.migrate();
    await storage.close();
    const rows = await superuser.sql(
      "select proname as name, proacl::text as rights from pg_proc where proname like 'theirs%' order by 1",
    );
    await superuser.sql('drop function theirs_open(), theirs_closed()');
    await superuser.close();
    expect(rows).to.deep.equal([
      { name: 'theirs_closed', rights: '{postgres=X/postgres}' },
      { name: 'theirs_open', rights: null },
    ]);
  });

  it('are migrated without changing the privileges of an extension that the same role owns', async () => {
    const fresh = await freshDatabase('postgres', 'absent');
    const connection = await connectOutside(fresh, 'superuser');
    await connection.sql('create extension citext');
    const rights = () =>
      connection.sql(
        "select oid::regprocedure::text as name, proacl::text as rights from pg_proc where oid in (select objid from pg_depend where deptype = 'e') order by oid",
      );
    const before = await rights();
    const address = new URL(fresh.settings['Service:Database:MigrationConnectionString'] ?? '');
    address.username = SUPERUSER;
    await migratePostgres({ connectionString: address.href, servingRole: 'mandate_app', now: NOON, monthsAhead: 2 });
    const after = await rights();
    await connection.close();
    await fresh.drop();
    expect(after).to.deep.equal(before);
  });

  it('look in pg_catalog only, if they run as their owner or for a trigger', async () => {
    expect(await functionsThat('prosecdef')).to.deep.equal([
      'add_checkpoint',
      'append_records',
      'create_ledger_partitions',
    ]);
    const lookElsewhere = `(prosecdef or prorettype = 'trigger'::regtype)
      and not coalesce('search_path=pg_catalog, pg_temp' = any (proconfig), false)`;
    expect(await functionsThat(lookElsewhere)).to.deep.equal([]);
  });

  it('name their schema before each table, type and function of it', async () => {
    const rows = await owner.sql(`
      with ours as (
        select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'c')
        union select proname from pg_proc where pronamespace = 'public'::regnamespace
      )
      select proname || ': ' || name as found from pg_proc, ours
        where pronamespace = 'public'::regnamespace and prosecdef and prosrc ~ ('(^|[^.\\w])' || name || '\\M')`);
    expect(rows).to.deep.equal([]);
  });
});

interface Opened {
  readonly storage: Storage;
  readonly superuser: OutsideConnection;
  /** Of the database. */
  readonly name: unknown;
}

/** Runs a test on a database of this test alone, with the schema or without it. */
const onFresh = (schema: 'applied' | 'absent', act: (opened: Opened) => Promise<void>) =>
  async function (this: Mocha.Context): Promise<void> {
    this.timeout(60_000);
    const database = await freshDatabase('postgres', schema);
    const superuser = await connectOutside(database, 'superuser');
    const [{ name } = {}] = await superuser.sql('select current_database() as name');
    const storage = await database.open();
    await act({ storage, superuser, name });
    await storage.close();
    await superuser.close();
    await database.drop();
  };

async function refusalBy(storage: Storage): Promise<DatabaseRefusal> {
  const refused = await storage.migrate().catch((error: unknown) => error);
  expect(refused).to.be.instanceOf(DatabaseRefusal);
  return refused as DatabaseRefusal;
}

describe('A schema in which every role may create', () => {
  it(
    'is refused by migrate too, and so is one that the serving role owns',
    onFresh('applied', async ({ storage, superuser, name }) => {
      for (const [opening, closing] of [
        ['grant all on schema public to public', 'revoke create on schema "public" from public'],
        [
          'grant all on schema public to public, mandate_app',
          'revoke create on schema "public" from mandate_app, public',
        ],
        [`alter database ${name} owner to mandate_app`, 'alter schema "public" owner to "mandate_owner"'],
        ['alter schema public owner to mandate_app', 'alter schema "public" owner to "mandate_owner"'],
      ] as const) {
        await superuser.sql(opening);
        expect((await refusalBy(storage)).statement, opening).to.equal(closing);
        await superuser.sql(closing);
        expect(await storage.migrate(), closing).to.deep.equal([]);
      }
    }),
  );
});

describe('A schema of another name', () => {
  it(
    'is used by every function and migration',
    onFresh('absent', async ({ storage, superuser, name }) => {
      await superuser.sql('create schema "Our ledger" authorization mandate_owner');
      await superuser.sql(`alter database ${name} set search_path = "Our ledger"`);
      expect(await storage.migrate()).to.deep.equal(['0001-schema']);
      await storage.createPartitions(NOON, 0);
      const opening = await openedTask(storage);
      expect(await storage.tasks.renew(aRenewal(opening))).to.deep.equal({ kind: 'renewed' });
      await storage.createPartitions(instantFromMillis(Date.parse('2027-06-15T00:00:00Z')), 0);
      expect(
        await superuser.sql(`select to_regclass('"Our ledger".ledger_2027_06') is not null as there`),
      ).to.deep.equal([{ there: true }]);
    }),
  );

  it(
    'is refused by migrate if its name would end a text in the files of migrations',
    onFresh('absent', async ({ storage, superuser, name }) => {
      await superuser.sql(`create schema "it's" authorization mandate_owner`);
      for (const [path, reason] of [
        [`"it's"`, 'unusable_schema_name'],
        ['nowhere', 'no_schema'],
      ]) {
        await superuser.sql(`alter role mandate_owner in database ${name} set search_path = ${path}`);
        expect(await refusalBy(storage)).to.deep.include({ reason, role: 'migrating' });
      }
    }),
  );
});
