import { expect } from 'chai';
import { openPostgresCondition } from '../../../../adapters/storage/postgres/condition.ts';
import type { StorageCondition } from '../../../../application/ports/storage.ts';
import { capturedLog } from '../../../support/captured-log.ts';
import { type FreshDatabase, freshDatabase, type OutsideConnection } from '../../../support/databases.ts';

async function partitionsOf(outside: OutsideConnection): Promise<readonly string[]> {
  const rows = await outside.sql(
    "select inhrelid::regclass::text as name from pg_inherits where inhparent = 'ledger'::regclass",
  );
  return rows.map(({ name }) => String(name));
}

describe('a migrated schema on Postgres', () => {
  let database: FreshDatabase;
  let condition: StorageCondition;
  before(async function () {
    this.timeout(60_000);
    database = await freshDatabase('postgres');
    condition = await openPostgresCondition(
      String(database.settings['Service:Database:ConnectionString']),
      capturedLog(),
    );
  });
  after(async () => {
    await condition.close();
    await database.drop();
  });

  it('refuses changes of the ledger, its archives, the checkpoints and each partition by trigger and privilege', async () => {
    const { tables, missing } = await condition.guards();
    expect(tables).to.be.greaterThan(5);
    expect(missing).to.deep.equal([]);
  });

  it('no longer refuses them after any of these changes by its owner, which the guards show', async () => {
    const outside = await database.outside?.();
    if (outside === undefined) throw new Error('this database cannot be reached from outside');
    const refusing = (body: string, name = 'refuse_ledger_change') =>
      `create or replace function ${name}() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$${body}$$`;
    const raise = "raise exception 'the ledger is append-only' using errcode = 'insufficient_privilege';";
    const trigger = (table: string, more = '', called = 'refuse_ledger_change') =>
      `create trigger ${table}_append_only before update or delete or truncate on ${table}
         for each statement ${more} execute function ${called}()`;
    const noTrigger = (table: string) => ({ table, what: 'no trigger refuses statements' });
    const refusesNot = { table: 'ledger', what: 'refuse_ledger_change does not refuse' };
    let before = (await condition.guards()).missing;
    const [partition] = (
      await outside.sql(
        "select min(inhrelid::regclass::text) as name from pg_inherits where inhparent = 'ledger'::regclass",
      )
    ).map(({ name }) => String(name));
    for (const [statements, ...missing] of [
      [refusing(`\n\n  begin\n\t${raise} end`)],
      [refusing(`begin ${raise} exception when others then return old; end`), refusesNot],
      [refusing(`begin ${raise} end`)],
      [refusing(`begin ${raise.replace(';', ' , detail = null;')} end`), refusesNot],
      [refusing(`begin ${raise} end`)],
      [
        'create or replace function last_number() returns bigint language sql stable as $$ select 4711::bigint $$',
        { table: 'ledger', what: 'last_number is not as the migrations make it' },
      ],
      [
        `drop trigger checkpoints_append_only on checkpoints; ${trigger('checkpoints', 'when (false)')}`,
        noTrigger('checkpoints'),
      ],
      ['alter table ledger_archives enable replica trigger ledger_archives_append_only', noTrigger('ledger_archives')],
      [
        `create schema other; ${refusing('begin return null; end', 'other.refuse_ledger_change')};
         drop trigger ledger_append_only on ${partition}; ${trigger(String(partition), '', 'other.refuse_ledger_change')}`,
        noTrigger(String(partition)),
        { table: String(partition), what: `the trigger ${partition}_append_only is not of the migrations` },
      ],
      [
        `alter table ${partition} enable row level security; create policy hides on ${partition} using (sponsor <> 'ada')`,
        { table: String(partition), what: 'row-level security is not of the migrations' },
        { table: String(partition), what: 'the policy hides is not of the migrations' },
      ],
      [
        'create table checkpoints_more () inherits (checkpoints)',
        { table: 'checkpoints', what: 'the child table checkpoints_more is not of the migrations' },
      ],
      [
        'create rule drops as on insert to ledger_archives do instead nothing',
        { table: 'ledger_archives', what: 'the rule drops is not of the migrations' },
      ],
      [
        `create function passes() returns trigger language plpgsql as $$ begin return null; end $$;
         create trigger swallows before insert on ledger for each row execute function passes();
         create trigger renames before insert on tasks for each row execute function passes()`,
        ...(await partitionsOf(outside)).map((table) => ({
          table,
          what: 'the trigger swallows is not of the migrations',
        })),
        { table: 'ledger', what: 'the trigger swallows is not of the migrations' },
        { table: 'tasks', what: 'the trigger renames is not of the migrations' },
      ],
    ] as const) {
      const known = before.filter(({ what }) => what !== refusesNot.what);
      await outside.sql(statements);
      before = (await condition.guards()).missing;
      expect(before, statements).to.have.deep.members([...known, ...missing]);
    }
    await outside.close();
  });

  it('gives the serving role exactly the privileges that decisions need', async () => {
    expect(await condition.role()).to.deep.include({ isSuperuser: false, isOwner: false, surplus: [], missing: [] });
  });
});
