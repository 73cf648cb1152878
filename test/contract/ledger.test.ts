import { expect } from 'chai';
import { plusSeconds } from '../../domain/instant.ts';
import { appendsEntries } from '../support/databases.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { expectSqlErrors } from './failing-writes.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { anEntry, ledgerOf, recordedBy } from './storage-fixtures.ts';

onEveryDatabase('dating a record', ({ storage }) => {
  const appendAt = async (seconds: number) => {
    const at = plusSeconds(NOON, seconds);
    const [record] = await recordedBy(storage(), () => storage().ledger.append(anEntry('admin.denied', { at })));
    return record === undefined ? undefined : (record.at - NOON) / 1_000_000;
  };

  it('dates no record before the newest one, unless that is a minute or more ahead', async () => {
    expect(await appendAt(100)).to.equal(100);
    expect(await appendAt(99)).to.equal(100);
    expect(await appendAt(40.000001)).to.equal(100);
    expect(await appendAt(40)).to.equal(40);
    expect(await appendAt(10_000)).to.equal(10_000);
    expect(await appendAt(101)).to.equal(101);
    expect(await appendAt(100.5)).to.equal(101);
  });
});

onEveryDatabase('the ledger', ({ storage, outside, kind }) => {
  it('refuses changes, deletions and truncation from every role', async () => {
    await storage().ledger.append(anEntry('admin.denied'));
    const before = await ledgerOf(storage());
    const tables = ['ledger', ...(kind.engine === 'postgres' ? await partitions() : [])];
    for (const role of kind.engine === 'postgres' ? (['serving', undefined, 'superuser'] as const) : [undefined]) {
      const connection = await outside(role);
      for (const table of tables) {
        const ofEngine =
          kind.engine === 'postgres'
            ? [
                `truncate ${table}`,
                `insert into ${table} select * from ledger on conflict (ts, seq) do update set reason = 'nothing'`,
              ]
            : ["insert or replace into ledger (seq, ts, event) select seq, ts, 'replaced' from ledger"];
        const statements = [
          `update ${table} set reason = 'nothing' where seq > 0`,
          `delete from ${table}`,
          ...ofEngine,
        ];
        await expectSqlErrors(connection, statements, /append-only|permission denied/);
      }
    }
    expect(await ledgerOf(storage())).to.deep.equal(before);
  });

  if (kind.engine === 'postgres') {
    it('accepts records from the serving role only through the functions that number and date them', async () => {
      const before = await ledgerOf(storage());
      const statements = [
        "insert into ledger (seq, ts, event, decision) values (9223372036854775807, now(), 'made.up', 'allow')",
        "insert into ledger (ts, event, decision) values (now(), 'token.issued', 'allow')",
        "select nextval('ledger_seq')",
        "select setval('ledger_seq', 1)",
      ];
      await expectSqlErrors(await outside('serving'), statements, /permission denied/);
      expect(await ledgerOf(storage())).to.deep.equal(before);
    });

    it('refuses changes to a partition that an operator attached', async () => {
      const superuser = await outside('superuser');
      await superuser.sql('begin');
      await superuser.sql('create table by_hand (like ledger including defaults including constraints)');
      const year = "from ('2040-01-01Z') to ('2041-01-01Z')";
      await superuser.sql(`alter table ledger attach partition by_hand for values ${year}`);
      await superuser.sql("insert into ledger (ts, event, decision) values ('2040-06-01Z', 'x', 'allow')");
      for (const statement of ["update by_hand set event = 'y'", 'delete from by_hand']) {
        await superuser.sql('savepoint attempt');
        const thrown = await superuser.sql(statement).catch((error: unknown) => error);
        expect(String(thrown), statement).to.match(/append-only/);
        await superuser.sql('rollback to attempt');
      }
      await superuser.sql('rollback');
    });

    it('refuses a record that would be too long for the export of its month', async () => {
      const connection = await outside('serving');
      const said = (detail: string) =>
        appendsEntries(`json_build_array(json_build_object('at', now(), 'event', 'x', 'detail', ${detail}))`);
      await expectSqlErrors(connection, [said("repeat('x', 131072)")], /ledger_size/);
      await connection.sql('begin');
      await connection.sql(`select create_ledger_partitions(now(), 0)`);
      await connection.sql(said("repeat('x', 131071)"));
      await connection.sql('rollback');
    });

    it('gets partitions only for months around the current one', async () => {
      const far = ['9000-01-01', '0001-01-01 BC'].map((time) => `select create_ledger_partitions('${time}', 12)`);
      await expectSqlErrors(await outside('serving'), far, /only within ten years of now/);
    });
  }

  async function partitions(): Promise<string[]> {
    const connection = await outside();
    const rows = await connection.sql(
      "select inhrelid::regclass::text as name from pg_inherits where inhparent = 'ledger'::regclass",
    );
    expect(rows).to.have.length.greaterThan(2);
    return rows.map((row) => String(row.name));
  }
});
