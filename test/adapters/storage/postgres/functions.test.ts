import { expect } from 'chai';
import { DatabaseRefusal } from '../../../../adapters/storage/database-refusal.ts';
import { openPostgresArchives } from '../../../../adapters/storage/postgres/archives.ts';
import { migratePostgres } from '../../../../adapters/storage/postgres/migrate.ts';
import { instantFromMillis } from '../../../../domain/instant.ts';
import type { Month } from '../../../../domain/ledger/time-range.ts';
import { anEntry, aRenewal, openedTask } from '../../../contract/storage-fixtures.ts';
import { capturedLog } from '../../../support/captured-log.ts';
import {
  appendsEntries,
  connectOutside,
  type FreshDatabase,
  freshDatabase,
  type OutsideConnection,
  type Role,
} from '../../../support/databases.ts';
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

/**
 * Objects that the serving role may make with CREATE on the schema. For the arguments of our statements, each fits better
 * than the one of Postgres, but for the last two, which Postgres must never prefer. Each calls `steal`.
 */
const PLANTED = [
  `create function unnest(p ledger_entry[]) returns setof ledger_entry language plpgsql as $$
    begin perform public.steal('unnest'); return query select * from pg_catalog.unnest(p); end $$`,
  `create function json_populate_recordset(p ledger_entry, q json) returns setof ledger_entry language plpgsql as $$
    begin
      perform public.steal('json_populate_recordset');
      return query select * from pg_catalog.json_populate_recordset(p, q);
    end $$`,
  `create function format(p text, q text) returns text language plpgsql as $$
    begin perform public.steal('format'); return pg_catalog.format(p, variadic array[q]); end $$`,
  `create function num_nonnulls(p text, q json) returns integer language plpgsql as $$
    begin perform public.steal('num_nonnulls'); return 1; end $$`,
  `create function create_ledger_partitions(p text, q text) returns void language plpgsql as $$
    begin perform public.steal('create_ledger_partitions'); end $$`,
  `create function same(p oid, q regclass) returns boolean language plpgsql as $$
    begin perform public.steal('='); return p::bigint = q::oid::bigint; end $$`,
  'create operator = (leftarg = oid, rightarg = regclass, function = same)',
  `create function other(p oid, q integer) returns boolean language plpgsql as $$
    begin perform public.steal('<>'); return p::bigint <> q; end $$`,
  'create operator <> (leftarg = oid, rightarg = integer, function = other)',
  `create function now() returns timestamptz language plpgsql as $$
    begin perform public.steal('now'); return pg_catalog.now(); end $$`,
  `create function octet_length(p text) returns integer language plpgsql as $$
    begin perform public.steal('octet_length'); return 1; end $$`,
];

/** What the role of the caller lets it do to the ledger, and a row that tells of it. */
const STEAL = `create function steal(p text) returns void language plpgsql as $$
  begin
    insert into public.stolen values (current_user::text || ' called ' || p);
    if current_user = 'mandate_owner' then
      grant delete on public.ledger to current_user;
      alter table public.ledger disable trigger all;
      delete from public.ledger;
    end if;
  end $$`;

describe('A serving role that may create in the schema', function () {
  this.timeout(60_000);
  let database: FreshDatabase;
  let superuser: OutsideConnection;
  let serving: OutsideConnection;
  beforeEach(async () => {
    database = await freshDatabase('postgres');
    superuser = await connectOutside(database, 'superuser');
    serving = await connectOutside(database, 'serving');
    await superuser.sql('grant create on schema public to mandate_app');
    await serving.sql(appendsEntries(`'[{"at": "2026-11-15T12:00:00Z", "event": "admin.denied"}]'`));
    await serving.sql('create table stolen (what text)');
    await serving.sql('grant all on stolen to public');
    await serving.sql(STEAL);
    for (const statement of PLANTED) await serving.sql(statement);
  });
  afterEach(async () => {
    await serving.close();
    await superuser.close();
    await database.drop();
  });

  /** @param records that the ledger must have */
  async function expectNothingStolen(records: number) {
    const stolen = await superuser.sql("select what from stolen where what not like 'mandate_app %'");
    const [left] = await superuser.sql('select count(*)::integer as records from ledger');
    const enabled = await superuser.sql(
      "select distinct tgenabled from pg_trigger where tgrelid in ('ledger'::regclass, 'checkpoints'::regclass)",
    );
    expect([stolen, left, enabled]).to.deep.equal([[], { records }, [{ tgenabled: 'O' }]]);
  }

  it('cannot make a function of the schema call its own as the owner', async () => {
    await serving.sql(
      `select append_records(array[row('2026-11-15T12:00:00Z', 'admin.denied', null, null, null, null, null, null, null,
        'deny', null, null, null)::ledger_entry])`,
    );
    await serving.sql("select create_ledger_partitions('2032-06-15 12:00Z'::timestamptz, 0)");
    await serving.sql("select add_checkpoint(1, 1, 2, 2, 'root', null, '2026-11-15T12:00:00Z', 'kid', 'signature')");
    expect(await superuser.sql('select checkpoint_id from checkpoints')).to.deep.equal([{ checkpoint_id: 1 }]);
    await expectNothingStolen(2);
  });

  it('is refused by migrate, with the statement to run, and cannot make a later migrate call what it left', async () => {
    const storage = await database.open();
    const refused = await storage.migrate().catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(DatabaseRefusal).and.to.deep.include({
      reason: 'role_may_create',
      role: 'serving',
      statement: 'revoke create on schema "public" from mandate_app',
    });
    await superuser.sql(String((refused as DatabaseRefusal).statement));
    expect(await storage.migrate()).to.deep.equal([]);
    await storage.close();
    await expectNothingStolen(1);
  });

  it('cannot make audit-archive call what it left', async () => {
    const connectionString = String(database.settings['Service:Database:MigrationConnectionString']);
    const opened = await openPostgresArchives(connectionString, capturedLog());
    expect(await opened.schemaStatus()).to.equal('current');
    expect(await opened.isOwner()).to.equal(true);
    const { archives } = opened;
    const before = await archives.exported();
    const held = await archives.heldBefore('2027-01' as Month);
    expect(held.map(({ partition }) => partition)).to.include('ledger_2026_11');
    const entry = anEntry('audit.archived', { at: NOON });
    const range = { firstCheckpoint: 1, lastCheckpoint: 1, firstSeq: 1, lastSeq: 1 };
    const departure = { month: '2026-11' as Month, at: NOON, before, range, entry };
    expect(await archives.exclusively(() => archives.remove(departure))).to.deep.equal({ answer: 'removed' });
    await opened.close();
    // The record of the removal.
    await expectNothingStolen(1);
  });
});

describe('A schema in which every role may create', () => {
  it('is refused by migrate too, and so is one that the serving role owns', async function () {
    this.timeout(60_000);
    const database = await freshDatabase('postgres');
    const superuser = await connectOutside(database, 'superuser');
    const [{ name } = {}] = await superuser.sql('select current_database() as name');
    const storage = await database.open();
    const refusedFor = async () => {
      const refused = await storage.migrate().catch((error: unknown) => error);
      expect(refused).to.be.instanceOf(DatabaseRefusal);
      return (refused as DatabaseRefusal).statement;
    };
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
      expect(await refusedFor(), opening).to.equal(closing);
      await superuser.sql(closing);
      expect(await storage.migrate(), closing).to.deep.equal([]);
    }
    await storage.close();
    await superuser.close();
    await database.drop();
  });
});

describe('A schema of another name', () => {
  it('is used by every function and migration', async function () {
    this.timeout(60_000);
    const database = await freshDatabase('postgres', 'absent');
    const superuser = await connectOutside(database, 'superuser');
    await superuser.sql('create schema "Our ledger" authorization mandate_owner');
    const [{ name } = {}] = await superuser.sql('select current_database() as name');
    await superuser.sql(`alter database ${name} set search_path = "Our ledger"`);
    const storage = await database.open();
    expect(await storage.migrate()).to.deep.equal(['0001-schema']);
    await storage.createPartitions(NOON, 0);
    const opening = await openedTask(storage);
    expect(await storage.tasks.renew(aRenewal(opening))).to.deep.equal({ kind: 'renewed' });
    await storage.createPartitions(instantFromMillis(Date.parse('2027-06-15T00:00:00Z')), 0);
    expect(await superuser.sql(`select to_regclass('"Our ledger".ledger_2027_06') is not null as there`)).to.deep.equal(
      [{ there: true }],
    );
    await storage.close();
    await superuser.close();
    await database.drop();
  });

  it('is refused by migrate if its name would end a text in the files of migrations', async function () {
    this.timeout(60_000);
    const database = await freshDatabase('postgres', 'absent');
    const superuser = await connectOutside(database, 'superuser');
    await superuser.sql(`create schema "it's" authorization mandate_owner`);
    const [{ name } = {}] = await superuser.sql('select current_database() as name');
    const storage = await database.open();
    for (const [path, reason] of [
      [`"it's"`, 'unusable_schema_name'],
      ['nowhere', 'no_schema'],
    ]) {
      await superuser.sql(`alter role mandate_owner in database ${name} set search_path = ${path}`);
      const refused = await storage.migrate().catch((error: unknown) => error);
      expect(refused).to.be.instanceOf(DatabaseRefusal).and.to.deep.include({ reason, role: 'migrating' });
    }
    await storage.close();
    await superuser.close();
    await database.drop();
  });
});
