/**
 * The owner of the database changes rows whose hash is in the ledger, or that a record contradicts: purposes, reasons of
 * operators, origins of scopes. What differs is not shown, and the log has an error.
 */

import { expect } from 'chai';
import { databasesByLength } from '../support/databases.ts';
import { appendRecord, forgeArchiving } from '../support/ledger/forged-archiving.ts';
import { JIRA, type Mandate, type RegisteredAgent, startMandate } from '../support/mandate.ts';
import { OPERATORS, operatorToken, ROLE_VALUES } from '../support/operators.ts';
import { alteredPurposes, alteredReasons } from '../support/rows-altered.ts';

const ME = 'https://mandate.test/me';
const WORDS = 'Pay the invoices of November';

for (const database of databasesByLength) {
  describe(`Rows beside the ledger on ${database.name}`, function () {
    this.timeout(60_000);
    let mandate: Mandate;
    let agent: RegisteredAgent;
    before(async () => {
      mandate = await startMandate({
        database,
        settings: {
          'Service:Me:Audience': ME,
          'Service:Tasks:Purpose': 'accept',
          ...OPERATORS,
        },
      });
      agent = await mandate.agent();
    });
    after(() => mandate.stop());

    const errorsOf = async (act: () => Promise<unknown>) => {
      const before = mandate.log.lines.length;
      await act();
      return mandate.log.lines.slice(before).filter((line) => line.includes('"level":"error"'));
    };

    async function started() {
      const sub = `ada-${Math.random()}`;
      const { task_id: id } = (await agent.exchangeFor({ sub }, { purpose: WORDS, resource: JIRA })).body;
      const headers = { authorization: `Bearer ${agent.subjectToken({ sub, aud: ME })}` };
      const mine = async () =>
        ((await mandate.get('/me/tasks', headers)).body.tasks as { purpose: string | null }[])[0]?.purpose;
      const theirs = async () => (await mandate.admin('GET', `/admin/tasks/${id}`)).body;
      return { id: String(id), mine, theirs };
    }

    const CHANGES = alteredPurposes(database.engine);
    for (const [name, change] of Object.entries(CHANGES)) {
      it(`show no purpose that was changed: ${name}`, async () => {
        const { id, mine, theirs } = await started();
        expect(await errorsOf(mine)).to.deep.equal([]);
        expect(await mine()).to.equal(WORDS);
        expect(await theirs()).to.include({ purpose: WORDS });
        await mandate.sql(change(id));
        const errors = await errorsOf(async () => {
          expect(await mine()).to.equal(null);
          expect(await theirs()).to.include({ purpose: null, purpose_salt: null });
        });
        expect(errors).to.have.lengthOf(2);
        for (const line of errors) expect(line).to.contain(id).and.not.to.contain('news');
      });
    }

    it('show no purpose that no record has', async () => {
      const sub = `ada-${Math.random()}`;
      const { task_id: id } = (await agent.exchangeFor({ sub })).body;
      await mandate.sql(`insert into task_purposes (task_id, purpose, salt) values ('${id}', 'Read the news', 'x')`);
      const errors = await errorsOf(async () => {
        expect((await mandate.admin('GET', `/admin/tasks/${id}`)).body).to.include({ purpose: null });
      });
      expect(errors).to.have.lengthOf(1);
    });

    async function acted() {
      const { id } = await started();
      const token = operatorToken(mandate, { roles: [ROLE_VALUES.responder] });
      const headers = { authorization: `Bearer ${token}`, 'mandate-reason': 'Incident 4711' };
      const { status } = await mandate.send(`/admin/tasks/${id}`, { method: 'DELETE', headers });
      expect(status).to.equal(200);
      const acts = async () =>
        (await mandate.admin('GET', '/admin/acts?limit=1')).body.acts as Readonly<Record<string, unknown>>[];
      const [{ seq } = { seq: 0 }] = await acts();
      return { seq, act: async () => (await acts())[0] };
    }

    for (const [name, [set, how]] of Object.entries(alteredReasons(database.engine))) {
      it(`show no reason of an act that was changed: ${name}`, async () => {
        const { seq, act } = await acted();
        expect(await act())
          .to.include({ sub: 'olga', reason: 'Incident 4711' })
          .and.not.to.have.property('difference');
        await mandate.sql(`update operator_acts set ${set} where seq = ${seq}`);
        const errors = await errorsOf(async () => {
          expect(await act()).to.include({ reason: null, salt: null, difference: how });
        });
        expect(errors).to.have.lengthOf(1);
        expect(errors[0]).to.contain(String(seq)).and.not.to.contain('Routine');
      });
    }

    it('are not taken for those of an archived month because ledger_archives lists it: no sealed record names it', async () => {
      const { id, mine } = await started();
      const later = database.engine === 'sqlite' ? '4073587200000000' : "'2099-02-01T00:00:00Z'";
      await mandate.sql(
        `insert into ledger_archives (month, archived_before, archived_at) values ('2099-01', ${later}, ${later})`,
      );
      await mandate.sql(`update task_purposes set purpose = 'Read the news' where task_id = '${id}'`);
      // The look-up for the record then misses it.
      await mandate.sql(CHANGES['another time of the task']?.(id) ?? '');
      expect(await errorsOf(async () => expect(await mine()).to.equal(null))).to.have.lengthOf(1);
    });

    /** The start of a task is moved to before February of a year, so that the look-up for its records misses them. */
    async function movedTo(year: number) {
      const { id, mine, theirs } = await started();
      const time = database.engine === 'sqlite' ? `${Date.UTC(year, 0, 5)}000` : `'${year}-01-05T00:00:00Z'`;
      await mandate.sql(`update tasks set created_at = ${time} where task_id = '${id}'`);
      return async () => {
        expect(await mine()).to.equal(null);
        expect(await theirs()).to.include({ purpose: null });
      };
    }

    const archived = (month: string, checkpoints: number, sequence: number) => {
      const upTo = (last: number) => (last === 0 ? null : { first: 1, last });
      const own = { checkpoints: upTo(checkpoints), sequence: upTo(sequence) };
      return JSON.stringify({ partition: `ledger_${month}`, ...own, before: [] });
    };

    it('are not taken for those of an archived month because of a record that is not sealed yet', async () => {
      await appendRecord(mandate, 'audit.archived', archived('2020_01', 0, 0));
      expect(await errorsOf(await movedTo(2020))).to.have.lengthOf(2);
    });

    it('are taken for those of an archived month if the record that says so is proved: nothing is shown, nothing is logged', async () => {
      await mandate.jobs.seal();
      expect(await errorsOf(await movedTo(2020))).to.deep.equal([]);
      expect(await errorsOf(await movedTo(2021))).to.have.lengthOf(2);
    });

    it('are not taken for those of an archived month because an owner put a record under a sealed number', async () => {
      const { seq, act } = await acted();
      await started();
      await mandate.jobs.seal();
      await started();
      const number = await forgeArchiving(mandate, database.engine, (last) => archived('2099_01', 1, last));
      expect(number).to.be.greaterThan(Number(seq));
      expect(await errorsOf(await movedTo(2021))).to.have.lengthOf(2);
      await mandate.sql(`delete from ledger where seq = ${seq}`);
      await mandate.sql(`update operator_acts set reason = 'Routine' where seq = ${seq}`);
      const errors = await errorsOf(async () => {
        expect(await act()).to.include({ reason: null, difference: 'no_record' });
      });
      expect(errors).to.have.lengthOf(1);
    });
  });
}
