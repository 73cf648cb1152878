import { expect } from 'chai';
import { migratePostgres } from '../../../../adapters/storage/postgres/migrate.ts';
import { type FreshDatabase, freshDatabase, type OutsideConnection, type Role } from '../../../support/databases.ts';
import { NOON } from '../../../support/domain-fixtures.ts';
import { SUPERUSER } from '../../../support/postgres-server.ts';

/** The tests query the catalogue of Postgres, so they include functions that are added later. */
describe('the functions of the schema on Postgres', () => {
  let database: FreshDatabase;
  let owner: OutsideConnection;
  before(async function () {
    this.timeout(60_000);
    database = await freshDatabase('postgres');
    owner = await outside('owner');
  });
  after(async () => {
    await owner.close();
    await database.drop();
  });

  async function outside(role: Role): Promise<OutsideConnection> {
    if (database.outside === undefined) throw new Error('Postgres cannot be reached from outside');
    return database.outside(role);
  }

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
    const superuser = await outside('superuser');
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
    const connection = await fresh.outside?.('superuser');
    if (connection === undefined) throw new Error('Postgres cannot be reached from outside');
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

  it('use our schema, not the caller’s search path, if they run as their owner', async () => {
    expect(await functionsThat('prosecdef')).to.include('append_records');
    const lookElsewhere = `prosecdef and not coalesce('search_path=public, pg_temp' = any (proconfig), false)`;
    expect(await functionsThat(lookElsewhere)).to.deep.equal([]);
  });
});
