import { expect } from 'chai';
import { DatabaseRefusal } from '../../../../adapters/storage/database-refusal.ts';
import { openPostgresArchives } from '../../../../adapters/storage/postgres/archives.ts';
import { type Month, startOfMonth } from '../../../../domain/ledger/time-range.ts';
import { sealed } from '../../../contract/minimal-sealer.ts';
import { anEntry } from '../../../contract/storage-fixtures.ts';
import { capturedLog } from '../../../support/captured-log.ts';
import {
  appendsEntries,
  connectOutside,
  type FreshDatabase,
  freshDatabase,
  type OutsideConnection,
} from '../../../support/databases.ts';
import { NOON } from '../../../support/domain-fixtures.ts';

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
    await archives.record(anEntry('audit.archived', { at: startOfMonth('2026-12' as Month) }));
    const { lastSeq: recordedAs } = await sealed(opened.checkpoints);
    const range = { firstCheckpoint: 1, lastCheckpoint: 1, firstSeq: 1, lastSeq: recordedAs };
    const departure = { month: '2026-11' as Month, at: NOON, before, range, recordedAs };
    expect(await archives.exclusively(() => archives.remove(departure))).to.deep.equal({ answer: 'removed' });
    await opened.close();
    // The record of the removal.
    await expectNothingStolen(1);
  });
});
