/** Two records of the ledger have one number, as only its owner can make them (docs/operating.md). */

import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { systemClock } from '../../adapters/platform/system-clock.ts';
import { describeUsedTwice } from '../../application/ports/storage.ts';
import { examineEverything } from '../../composition/doctor/examine-everything.ts';
import { doctorSettings } from '../../composition/doctor/settings.ts';
import { runMandate } from '../support/cli-run.ts';
import { connectOutside, databases, type FreshDatabase, type OutsideConnection } from '../support/databases.ts';
import { environmentOf, type Mandate, startMandate } from '../support/mandate.ts';
import { sharedSigningKey } from '../support/shared-signing-key.ts';

const PAGE = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8');
/** The statements of the runbook: one that lists, one that removes. */
const [LIST = '', REMOVE = ''] = [
  ...(PAGE.split('### Two records have one number')[1] ?? '').matchAll(/```sql\n(.*?)```/gs),
].map(([, sql]) => sql);

const [INDEX = ''] = /create unique index ledger_2026_11_by_seq [^`]*/.exec(PAGE) ?? [];

const CHECKS = ['schema', 'ledger guards', 'ledger numbering', 'ledger sealing'];

for (const database of databases) {
  describe(`Two records with one number in the ledger of ${database.name}`, function () {
    this.timeout(60_000);
    const signing = sharedSigningKey();
    let fresh: FreshDatabase;
    let mandate: Mandate;
    let owner: OutsideConnection;
    let twice: number;

    const start = () =>
      startMandate({
        database: { ...database, fresh: async () => ({ ...fresh, drop: async () => undefined }) },
        settings: signing,
      });
    before(async () => {
      fresh = await database.fresh();
      owner = await connectOutside(fresh, 'owner');
      mandate = await start();
      await mandate.block('ada', 'disabled');
      await mandate.jobs.seal();
      await mandate.block('grace', 'disabled');
      await mandate.block('edsger', 'disabled');
      const [row] = await owner.sql('select max(seq) as seq, max(ts) as ts from ledger');
      twice = Number(row?.seq) - 1;
      const later = database.engine === 'sqlite' ? 'ts + 2000000' : "ts + interval '2 seconds'";
      const insert = `insert into ledger (seq, ts, event, sponsor, decision)
        select seq, ${later}, 'token.issued', 'eve', 'allow' from ledger where seq = ${twice}`;
      if (database.engine === 'sqlite') await withoutKey(insert);
      else {
        const [index] = await owner.sql(
          `select indexrelid::regclass::text as name from pg_index where indisunique and not indisprimary and indrelid =
            (select tableoid from ledger where seq = ${twice})`,
        );
        await owner.sql(`drop index ${index?.name}`);
        await owner.sql(insert);
      }
    });
    after(async () => {
      await owner.close();
      await mandate.stop();
      await fresh.drop();
    });

    /** SQLite has the number as the key of the table. */
    async function withoutKey(statement: string): Promise<void> {
      const [made] = await owner.sql("select sql from sqlite_master where name = 'ledger'");
      const triggers = await owner.sql(
        "select name, sql from sqlite_master where type = 'trigger' and tbl_name = 'ledger'",
      );
      for (const { name } of triggers) await owner.sql(`drop trigger ${name}`);
      await owner.sql(
        String(made?.sql).replace('ledger', 'unkeyed').replace('integer primary key autoincrement', 'integer'),
      );
      await owner.sql('insert into unkeyed select * from ledger');
      await owner.sql('drop table ledger');
      await owner.sql('alter table unkeyed rename to ledger');
      await owner.sql(statement);
      for (const { sql } of triggers) await owner.sql(String(sql));
    }

    const command = (...args: readonly string[]) => runMandate(args, { ...fresh.settings, ...signing });
    /** The findings of `mandate doctor`. */
    const doctor = () => {
      const environment = environmentOf({ ...fresh.settings, ...signing });
      return examineEverything(doctorSettings({ environment, overrides: [] }), systemClock());
    };
    const said = (text: string) => text.replaceAll(/\s+/g, ' ');
    const sealingCheck = async () => {
      const { body } = await mandate.get('/readyz', { accept: 'application/json' });
      return (body.checks as Record<string, { status: string; detail: string }>).sealing;
    };
    const state = async () => [
      await owner.sql('select * from ledger order by seq, ts'),
      await owner.sql('select checkpoint_id from checkpoints'),
    ];

    it('are not sealed, and the log and /readyz name the number', async () => {
      const before = await state();
      await mandate.jobs.seal();
      await mandate.jobs.seal();
      expect(await state()).to.deep.equal(before);
      expect(await sealingCheck()).to.deep.equal({
        status: 'Degraded',
        detail: `Nothing is sealed. ${describeUsedTwice(twice)}`,
      });
      const lines = mandate.log.lines.filter((line) => line.includes('two records have one number'));
      expect(lines).to.have.length(1);
      expect(lines[0]).to.include(`"problem":"Two records have the number ${twice}`);
    });

    it('fail two checks of doctor, however young the records are', async () => {
      const failed = (await doctor()).filter(({ status }) => status === 'failed');
      expect(failed).to.deep.include.members([
        {
          check: 'ledger numbering',
          status: 'failed',
          sentence: describeUsedTwice(twice),
          remedy: 'Take one of the two out of the ledger, as the page says. Do not run `mandate after-restore` before.',
        },
      ]);
      expect(said(JSON.stringify(failed))).to.match(/"ledger sealing".*3 records are not sealed, and cannot be/);
    });

    it('are refused by after-restore, which changes nothing', async () => {
      const before = await state();
      const { code, err } = await command('after-restore', '--above', '100');
      expect(code).to.equal(1);
      expect(said(err)).to.include(`${describeUsedTwice(twice)} Nothing was changed.`);
      expect(await state()).to.deep.equal(before);
    });

    if (database.engine === 'postgres') {
      it('are one again after the runbook, and the ledger is sealed and verified', async () => {
        await mandate.stop();
        const both = await owner.sql(LIST);
        expect(both.map(({ seq }) => Number(seq))).to.deep.equal([twice, twice]);
        expect(both.map(({ sponsor }) => sponsor)).to.deep.equal(['grace', 'eve']);
        // As psql prints it.
        const [added] = await owner.sql(`select ts::text from ledger where sponsor = 'eve'`);
        const remove = REMOVE.replace('seq = 36', `seq = ${twice}`).replace(/ts = '.*?'/, `ts = '${added?.ts}'`);
        expect(remove).to.not.equal(REMOVE);
        await owner.sql(remove);
        const month = String(
          (await owner.sql(`select tableoid::regclass::text as name from ledger where seq = ${twice}`))[0]?.name,
        );
        await owner.sql(INDEX.replaceAll('ledger_2026_11', month));
        mandate = await start();
        await mandate.jobs.seal();
        expect((await sealingCheck())?.status).to.equal('Healthy');
        const verified = await command('audit-verify');
        expect(verified.code, verified.out).to.equal(0);
        const found = (await doctor()).filter(({ check }) => CHECKS.includes(check));
        expect(found.map(({ status }) => status)).to.deep.equal(CHECKS.map(() => 'ok'));
        expect((await command('after-restore', '--above', '100')).code).to.equal(0);
      });
    }
  });
}
