/** Two records of the ledger have one number, as only its owner can make them (docs/operating.md). */

import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { systemClock } from '../../adapters/platform/system-clock.ts';
import type { UsedTwice } from '../../application/ports/checkpoints.ts';
import { describeUsedTwice } from '../../application/ports/storage.ts';
import { examineEverything } from '../../composition/doctor/examine-everything.ts';
import { doctorSettings } from '../../composition/doctor/settings.ts';
import { runMandate } from '../support/cli-run.ts';
import { connectOutside, databasesByLength, type FreshDatabase, type OutsideConnection } from '../support/databases.ts';
import { unkeyLedger } from '../support/ledger/tampering.ts';
import { environmentOf, type Mandate, startMandate } from '../support/mandate.ts';
import { sharedSigningKey } from '../support/shared-signing-key.ts';

const PAGE = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8');
/** The statements of the runbook: one that lists, one that removes. */
const [LIST = '', REMOVE = ''] = [
  ...(PAGE.split('### Two records have one number')[1] ?? '').matchAll(/```sql\n(.*?)```/gs),
].map(([, sql]) => sql);

const [INDEX = ''] = /create unique index ledger_2026_11_by_seq [^`]*/.exec(PAGE) ?? [];

const CHECKS = ['schema', 'ledger guards', 'ledger numbering', 'ledger sealing'];

for (const database of databasesByLength) {
  describe(`Two records with one number in the ledger of ${database.name}`, function () {
    this.timeout(60_000);
    const signing = sharedSigningKey();
    let fresh: FreshDatabase;
    let mandate: Mandate;
    let owner: OutsideConnection;
    let twice: UsedTwice;

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
      twice = { seq: Number(row?.seq) - 1, isSealed: false };
      if (database.engine === 'sqlite') await asOwner(() => unkeyLedger(owner));
      else await dropIndex();
      await add(twice.seq, 0);
    });
    after(async () => {
      await owner.close();
      await mandate.stop();
      await fresh.drop();
    });

    const isPostgres = database.engine === 'postgres';
    const month = async () => {
      const [of] = await owner.sql(`select tableoid::regclass::text as name from ledger order by ts desc limit 1`);
      return String(of?.name);
    };
    /** Within a month, it refuses a second record. */
    const dropIndex = async () => owner.sql(`drop index ${await month()}_by_seq`);
    const makeIndex = async () => owner.sql(INDEX.replaceAll('ledger_2026_11', await month()));

    /** Adds a copy of a record, two seconds later, or in the partition of an earlier month. */
    async function add(seq: number, monthsAgo: number): Promise<void> {
      const later = isPostgres ? `ts + interval '2 seconds' - interval '${monthsAgo} months'` : 'ts + 2000000';
      await asOwner(() =>
        owner.sql(
          `insert into ledger (seq, ts, event, sponsor, decision)
          select seq, ${later}, 'token.issued', 'eve', 'allow' from ledger where seq = ${seq}`,
        ),
      );
    }

    /** On SQLite, without the triggers of the ledger. */
    async function asOwner(work: () => Promise<unknown>): Promise<void> {
      const triggers = await owner.sql(
        isPostgres
          ? 'select 1 limit 0'
          : "select name, sql from sqlite_master where type = 'trigger' and tbl_name = 'ledger'",
      );
      for (const { name } of triggers) await owner.sql(`drop trigger ${name}`);
      await work();
      for (const { sql } of triggers) await owner.sql(String(sql));
    }

    /** Takes the added record out, on Postgres as the page says. */
    async function remove(seq: number): Promise<void> {
      if (!isPostgres) return asOwner(() => owner.sql("delete from ledger where sponsor = 'eve'"));
      const both = await owner.sql(LIST);
      expect(both.map((record) => Number(record.seq))).to.deep.equal([seq, seq]);
      // As psql prints it.
      const [added] = await owner.sql(`select ts::text from ledger where sponsor = 'eve'`);
      const statement = REMOVE.replace('seq = 36', `seq = ${seq}`).replace(/ts = '.*?'/, `ts = '${added?.ts}'`);
      expect(statement).to.not.equal(REMOVE);
      await owner.sql(statement);
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
      expect(lines[0]).to.include(`"problem":"Two records have the number ${twice.seq}`);
    });

    it('are refused by after-restore, which changes nothing', async () => {
      const before = await state();
      const { code, err } = await command('after-restore', '--above', '100');
      expect(code).to.equal(1);
      expect(said(err)).to.include(`${describeUsedTwice(twice)} Nothing was changed.`);
      expect(await state()).to.deep.equal(before);
    });

    it('are one again after the runbook, and the ledger is sealed and verified', async () => {
      if (isPostgres) await mandate.stop();
      await remove(twice.seq);
      if (isPostgres) {
        await makeIndex();
        mandate = await start();
      }
      await mandate.jobs.seal();
      expect((await sealingCheck())?.status).to.equal('Healthy');
      const verified = await command('audit-verify');
      expect(verified.code, verified.out).to.equal(0);
      if (!isPostgres) return;
      const found = (await doctor()).filter(({ check }) => CHECKS.includes(check));
      expect(found.map(({ status }) => status)).to.deep.equal(CHECKS.map(() => 'ok'));
      expect((await command('after-restore', '--above', '100')).code).to.equal(0);
    });

    for (const [where, monthsAgo] of [
      ['beside the other one', 0],
      ...(isPostgres ? ([['in another month, with all indexes', 1]] as const) : []),
    ] as const) {
      it(`have a sealed number, ${where}: all readers name it until one is taken out, and later records are sealed`, async () => {
        const sealed = { seq: twice.seq, isSealed: true };
        const sentence = describeUsedTwice(sealed);
        if (isPostgres && monthsAgo === 0) await dropIndex();
        if (monthsAgo > 0) {
          await owner.sql(`select create_ledger_partitions(now() - interval '${monthsAgo} months', 0)`);
        }
        await add(twice.seq, monthsAgo);
        mandate.log.lines.length = 0;
        await mandate.block(`later-${monthsAgo}`, 'disabled');
        await mandate.jobs.seal();
        await mandate.jobs.seal();
        expect(await sealingCheck()).to.deep.equal({ status: 'Degraded', detail: sentence });
        const lines = mandate.log.lines.filter((line) => line.includes('two records have one number'));
        expect(lines).to.have.length(1);
        expect((await owner.sql('select max(last_seq) = (select max(seq) from ledger) as sealed from checkpoints'))[0])
          .to.have.property('sealed')
          .that.is.oneOf([true, 1]);
        const found = (await doctor()).filter(({ check }) => check.startsWith('ledger '));
        expect(found.find(({ check }) => check === 'ledger numbering')).to.deep.include({ status: 'failed', sentence });
        expect(found.find(({ check }) => check === 'ledger sealing')?.status).to.equal('ok');
        const before = await state();
        const { code, err } = await command('after-restore');
        expect(code).to.equal(1);
        expect(said(err)).to.include(`${sentence} Nothing was changed.`);
        expect(await state()).to.deep.equal(before);

        await remove(twice.seq);
        if (isPostgres && monthsAgo === 0) await makeIndex();
        await mandate.jobs.seal();
        expect((await sealingCheck())?.status).to.equal('Healthy');
        expect((await command('audit-verify')).code).to.equal(0);
        expect((await doctor()).find(({ check }) => check === 'ledger numbering')?.status).to.equal('ok');
      });
    }
  });
}
