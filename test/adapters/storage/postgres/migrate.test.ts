import { expect } from 'chai';
import { partitionOf } from '../../../../adapters/storage/postgres/migrate.ts';
import { type Instant, instantFromMillis } from '../../../../domain/instant.ts';
import { anEntry, aRenewal, ledgerOf, openedTask } from '../../../contract/storage-fixtures.ts';
import { capturedLog } from '../../../support/captured-log.ts';
import {
  appendsEntries,
  type FreshDatabase,
  freshDatabase,
  type OutsideConnection,
} from '../../../support/databases.ts';
import { openPostgres } from '../../../support/open-postgres.ts';
import { type Storage, withMethods } from '../../../support/storage.ts';

const NEW_YEARS_EVE = instantFromMillis(Date.parse('2031-12-31T23:59:59.999Z'));

describe('the ledger’s partitions', () => {
  let database: FreshDatabase;
  let storage: Storage;
  let outside: OutsideConnection;
  let now: Instant;
  beforeEach(async function () {
    this.timeout(60_000);
    database = await freshDatabase('postgres', 'absent');
    now = NEW_YEARS_EVE;
    storage = await database.open({ clock: { now: () => now } });
    if (database.outside === undefined) throw new Error('Postgres cannot be reached from outside');
    outside = await database.outside('owner');
    await storage.migrate();
  });
  afterEach(async () => {
    await outside.close();
    await storage.close();
    await database.drop();
  });

  const partitions = async () => {
    const rows = await outside.sql(
      "select inhrelid::regclass::text as name from pg_inherits where inhparent = 'ledger'::regclass order by 1",
    );
    return rows.map((row) => row.name);
  };

  it('are created with the schema for this month and the next two', async () => {
    expect(await partitions()).to.deep.equal(['ledger_2031_12', 'ledger_2032_01', 'ledger_2032_02']);
  });

  it('are named by the month in UTC', () => {
    expect(partitionOf(NEW_YEARS_EVE)).to.equal('ledger_2031_12');
    expect(partitionOf(instantFromMillis(Date.parse('2032-01-01T00:00:00Z')))).to.equal('ledger_2032_01');
  });

  it('are created for later months by the serving role, repeatedly and on several replicas at once', async () => {
    const later = instantFromMillis(Date.parse('2032-02-15T00:00:00Z'));
    const other = await database.open();
    await Promise.all([storage, other, storage].map((process) => process.createPartitions(later, 2)));
    expect(await partitions()).to.deep.equal([
      'ledger_2031_12',
      'ledger_2032_01',
      'ledger_2032_02',
      'ledger_2032_03',
      'ledger_2032_04',
    ]);
    await other.close();
  });

  it('begin and end in UTC, whatever the session’s time zone and date style are', async () => {
    const serving = await database.outside?.('serving');
    await serving?.sql("set timezone = 'UTC+5'; set datestyle = 'Postgres, DMY'");
    await serving?.sql("select create_ledger_partitions('2032-06-15 12:00Z', 0)");
    await serving?.close();
    await outside.sql("set timezone = 'UTC'");
    const rows = await outside.sql(
      "select pg_get_expr(relpartbound, oid) as ends from pg_class where relname = 'ledger_2032_06'",
    );
    expect(rows).to.deep.equal([{ ends: "FOR VALUES FROM ('2032-06-01 00:00:00+00') TO ('2032-07-01 00:00:00+00')" }]);
  });

  it('are not created for an archived month or an earlier one, because no later month could be archived then', async () => {
    await outside.sql(
      "insert into ledger_archives (month, archived_before, archived_at) values ('2031-10', '2031-11-01Z', '2031-12-02Z')",
    );
    await storage.createPartitions(instantFromMillis(Date.parse('2031-09-15T00:00:00Z')), 2);
    expect(await partitions()).to.deep.equal(['ledger_2031_11', 'ledger_2031_12', 'ledger_2032_01', 'ledger_2032_02']);
  });

  it('are created without blocking appends', async () => {
    const writer = await database.outside?.('serving');
    await writer?.sql('begin');
    await writer?.sql(appendsEntries(`'[{"at": "2031-12-31T12:00:00Z", "event": "admin.denied"}]'`));
    await storage.createPartitions(instantFromMillis(Date.parse('2032-03-01T00:00:00Z')), 0);
    await writer?.sql('rollback');
    await writer?.close();
    expect(await partitions()).to.include('ledger_2032_03');
  });

  it('hold the record that belongs to the month, to the last microsecond', async () => {
    await storage.ledger.append(anEntry('admin.denied', { at: NEW_YEARS_EVE, detail: 'old' }));
    const midnight = instantFromMillis(Date.parse('2032-01-01T00:00:00Z'));
    await storage.ledger.append(anEntry('admin.denied', { at: midnight, detail: 'new' }));
    expect(await outside.sql('select detail from ledger_2031_12')).to.deep.equal([{ detail: 'old' }]);
    expect(await outside.sql('select detail from ledger_2032_01')).to.deep.equal([{ detail: 'new' }]);
    expect((await ledgerOf(storage)).map((record) => record.detail)).to.deep.equal(['old', 'new']);
  });

  it('are required for readiness in the current month', async () => {
    expect(await storage.readiness.check()).to.deep.equal({ status: 'Healthy', detail: 'The database answers.' });
    now = instantFromMillis(Date.parse('2032-03-01T00:00:00Z'));
    expect(await storage.readiness.check()).to.deep.equal({
      status: 'Unhealthy',
      detail: 'The ledger has no partition ledger_2032_03; run `mandate migrate`.',
    });
    await storage.createPartitions(now, 0);
    expect(await storage.readiness.check()).to.deep.include({ status: 'Healthy' });
  });

  it('grant nothing to roles with default privileges on new tables', async () => {
    await outside.sql('alter default privileges grant all on tables to public');
    await outside.sql('alter default privileges grant all on tables to mandate_app');
    await storage.createPartitions(instantFromMillis(Date.parse('2032-05-01T00:00:00Z')), 0);
    const serving = await database.outside?.('serving');
    for (const statement of ['select', 'delete']) {
      const thrown = await serving
        ?.sql(`${statement} ${statement === 'select' ? '*' : ''} from ledger_2032_05`)
        .catch((error: unknown) => error);
      expect(String(thrown)).to.include('permission denied');
    }
    await serving?.close();
  });

  it('are created for at most twelve months ahead', async () => {
    expect(await storage.createPartitions(now, 13).catch((error: unknown) => error)).to.be.instanceOf(Error);
    expect(await partitions()).to.have.length(3);
  });
});

describe('the serving role', () => {
  let database: FreshDatabase;
  before(async function () {
    this.timeout(60_000);
    database = await freshDatabase('postgres');
  });
  after(() => database.drop());

  it('cannot change the schema, the migrations or archived months, nor choose a sequence number', async () => {
    const serving = await database.outside?.('serving');
    for (const statement of [
      'create table mine (x integer)',
      'drop table ledger',
      'alter table ledger disable trigger all',
      'alter table agents add column x integer',
      'delete from schema_migrations',
      "insert into ledger_archives values ('2026-09', now(), now())",
      "select setval('ledger_seq', 1)",
      'truncate tasks cascade',
      'create or replace function refuse_ledger_change() returns trigger language plpgsql as $$ begin return null; end $$',
      'alter table ledger detach partition ledger_2026_11',
    ]) {
      const thrown = await serving?.sql(statement).catch((error: unknown) => error);
      expect(String(thrown), statement).to.match(/permission denied|must be owner/);
    }
    await serving?.close();
  });

  it('may be the owner too; then triggers and privileges revoked from itself protect the ledger', async () => {
    const connectionString = String(database.settings['Service:Database:MigrationConnectionString']);
    const storage = withMethods(
      await openPostgres({ connectionString }, { clock: { now: () => NEW_YEARS_EVE }, log: capturedLog() }),
    );
    await storage.migrate();
    const opening = await openedTask(storage);
    expect(await storage.tasks.renew(aRenewal(opening))).to.deep.equal({ kind: 'renewed' });
    const owner = await database.outside?.('owner');
    const thrown = await owner?.sql('delete from ledger').catch((error: unknown) => error);
    expect(String(thrown)).to.match(/permission denied/);
    await owner?.close();
    await storage.close();
  });

  it('may have a name that must be quoted', async function () {
    this.timeout(60_000);
    const superuser = await database.outside?.('superuser');
    const name = 'Odd "role" 5.1?';
    await superuser?.sql(`create role "${name.replaceAll('"', '""')}" login`);
    const owner = String(database.settings['Service:Database:MigrationConnectionString']);
    const connectionString = owner.replace('mandate_owner', encodeURIComponent(name));
    const storage = withMethods(
      await openPostgres(
        { connectionString, migrationConnectionString: owner },
        { clock: { now: () => NEW_YEARS_EVE }, log: capturedLog() },
      ),
    );
    await storage.migrate();
    const opening = await openedTask(storage);
    expect(await storage.tasks.renew(aRenewal(opening))).to.deep.equal({ kind: 'renewed' });
    await storage.close();
    await superuser?.sql(`drop owned by "${name.replaceAll('"', '""')}"`);
    await superuser?.sql(`drop role "${name.replaceAll('"', '""')}"`);
    await superuser?.close();
  });
});
