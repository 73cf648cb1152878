/**
 * A person says no, and why: by the API and by the form of the page. The tool server gets the line as long as the no counts, and
 * nothing shows it or tells it once its row was changed (docs/approvals.md, "Why not").
 */

import { createHash } from 'node:crypto';
import { expect } from 'chai';
import type { StorageCondition } from '../../application/ports/storage.ts';
import { doctorSettings } from '../../composition/doctor/settings.ts';
import { openCondition } from '../../composition/doctor/sources.ts';
import { databasesByLength } from '../support/databases.ts';
import { environmentOf, JIRA, type Mandate, type RegisteredAgent } from '../support/mandate.ts';
import { type PageWithProvider, personBrowser, startWithPage } from '../support/me/person-browser.ts';
import { type AskingServer, approvalSettings, askingServer, asks } from '../support/tool-server/approval-request.ts';

const ME = 'https://mandate.test/me';
const LINE = 'Wrong account\u202e: “PAY-8” <b>';

for (const database of databasesByLength) {
  describe(`A no that says why, on ${database.name}`, function () {
    this.timeout(60_000);
    let running: PageWithProvider;
    let mandate: Mandate;
    let agent: RegisteredAgent;
    let jira: AskingServer;
    let condition: StorageCondition;
    before(async () => {
      jira = await askingServer(JIRA, { issuer: () => mandate.issuer, now: () => mandate.clock.seconds() });
      const fresh = await database.fresh();
      running = await startWithPage(
        { ...database, fresh: async () => fresh },
        { 'Service:Me:Audience': ME, 'Service:Tasks:Retention': 'PT2M', ...approvalSettings(jira) },
      );
      mandate = running.mandate;
      agent = await mandate.agent();
      const found = doctorSettings({ environment: environmentOf(fresh.settings), overrides: [] });
      const opened = await openCondition(found.section('Service:Database') as never);
      if (opened.kind !== 'opened') throw new Error(opened.sentence);
      condition = opened.condition;
    });
    after(async () => {
      await condition.close();
      await running.stop();
    });

    async function waiting() {
      const { access_token: token, task_id: taskId } = (await agent.exchange()).body;
      const ask = async () => (await asks(mandate, token, jira.request(taskId))).body;
      const { approval_id: id } = await ask();
      return { ask, approval: await mandate.approval(String(id)) };
    }
    type Waiting = Awaited<ReturnType<typeof waiting>>;
    const no = ({ approval }: Waiting, more: object = {}) =>
      mandate.send(`/me/approvals/${approval.approvalId}`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${agent.subjectToken({ aud: ME, auth_time: mandate.clock.seconds() })}`,
        },
        body: JSON.stringify({ decision: 'refuse', commitment: approval.commitment, ...more }),
      });
    const detailOf = ({ approvalId, digest, commitment }: Waiting['approval']) =>
      `approval=${approvalId}&digest=${digest}&commitment=${commitment}`;

    it('is told by every answer while the no counts, and the record has its hash alone', async () => {
      const asked = await waiting();
      const records = await mandate.recorded(async () => {
        const said = await no(asked, { reason: `  ${LINE}\n` });
        expect([said.status, said.body]).to.deep.equal([200, { state: 'refused', person_says: LINE }]);
        // The same answer again, with another line, changes nothing.
        expect((await no(asked, { reason: 'Something else' })).body).to.deep.equal(said.body);
        for (const nth of [1, 2]) {
          expect(await asked.ask(), String(nth)).to.deep.equal({ state: 'refused', person_says: LINE });
        }
      });
      const { says } = await mandate.approval(asked.approval.approvalId);
      const hash = createHash('sha256').update(`${says?.salt}${LINE}`).digest('hex');
      expect(says?.salt).to.match(/^[\w-]{43}$/);
      expect(records.map(({ event, reason, detail }) => [event, reason, detail])).to.deep.equal([
        ['approval.refused', 'approval_refused', `${detailOf(asked.approval)}&says=${hash}`],
      ]);
      expect(JSON.stringify(await mandate.ledger())).not.to.contain('Wrong account');
      mandate.clock.advance(3601);
      expect((await asked.ask()).state).to.equal('inactive');
      mandate.clock.advance(-3601);
    });

    it('leaves answer and record as they were without a line, or with a blank one', async () => {
      for (const more of [{}, { reason: '' }, { reason: ' \t ' }, { reason: '\u200b' }]) {
        const asked = await waiting();
        const records = await mandate.recorded(async () => {
          expect((await no(asked, more)).text).to.equal('{"state":"refused"}');
          expect(await asked.ask()).to.deep.equal({ state: 'refused' });
        });
        expect(records.map(({ detail }) => detail)).to.deep.equal([detailOf(asked.approval)]);
      }
    });

    it('decides nothing with a line that breaks the rules, or beside a yes: 400 with the field', async () => {
      const asked = await waiting();
      const records = await mandate.recorded(async () => {
        for (const more of [
          ...['x'.repeat(201), 'a\u0000b', 'a\nb', 7, null, ['x']].map((reason) => ({ reason })),
          { decision: 'approve', reason: 'x' },
          { decision: 'approve', reason: '' },
        ]) {
          const { status, body } = await no(asked, more);
          expect([status, Object.keys(body.errors as object)], JSON.stringify(more)).to.deep.equal([400, ['reason']]);
        }
        expect((await asked.ask()).state).to.equal('pending');
      });
      expect(records).to.deep.equal([]);
    });

    it('comes by the form of the page, which comes back with the text if it breaks the rules', async () => {
      const asked = await waiting();
      const { approvalId, commitment } = asked.approval;
      const person = personBrowser(mandate);
      await person.signIn();
      const headers = { cookie: person.cookies(), accept: 'text/html' };
      const show = async () => (await mandate.get(`/me/approvals/${approvalId}`, headers)).text;
      const formToken = /name="form_token" value="([^"]+)"/.exec(await show())?.[1] ?? '';
      const send = (fields: object) =>
        mandate.send(`/me/approvals/${approvalId}/answer`, {
          method: 'POST',
          redirect: 'manual',
          headers: { ...headers, origin: mandate.issuer, 'content-type': 'application/x-www-form-urlencoded' },
          body: new URLSearchParams({ form_token: formToken, decision: 'refuse', commitment, ...fields }).toString(),
        });
      const records = await mandate.recorded(async () => {
        const long = `<i>${'x'.repeat(201)}`;
        const back = await send({ reason: long });
        expect(back.status).to.equal(400);
        expect(back.text)
          .to.contain(`value="&lt;i&gt;${'x'.repeat(201)}"`)
          .and.contain('Nothing was decided.');
        // The script of the page asks its own address, not that of the form.
        expect(back.text).to.contain(`data-renew-from="/me/approvals/${approvalId}"`);
        expect((await send({ reason: 'x', decision: 'approve' })).text).to.contain('cannot be read');
        expect((await mandate.approval(approvalId)).state).to.equal('pending');
      });
      expect(records).to.deep.equal([]);
      expect((await send({ reason: LINE })).status).to.equal(303);
      expect(await asked.ask()).to.include({ person_says: LINE });
      for (const page of [await show(), (await mandate.get('/me', headers)).text]) {
        expect(page).to.contain('Wrong account\\u{202e}: “PAY-8” &lt;b&gt;');
      }
    });

    const ALTERED: Readonly<Record<string, string>> = {
      'another line': "says = 'Please go on'",
      'another salt': `says_salt = '${'s'.repeat(43)}'`,
      'a letter moved into the salt': 'says_salt = says_salt || substr(says, 1, 1), says = substr(says, 2)',
      'no line': 'says = null, says_salt = null',
      'no salt': 'says_salt = null',
    };
    for (const [name, change] of Object.entries(ALTERED)) {
      it(`is shown and told nowhere once its row was changed, and doctor names it: ${name}`, async () => {
        const asked = await waiting();
        const { approvalId } = asked.approval;
        await no(asked, { reason: LINE });
        await mandate.sql(`update approvals set ${change} where approval_id = '${approvalId}'`);
        const records = await mandate.recorded(async () => {
          expect(await asked.ask()).to.deep.equal({ state: 'refused' });
          expect((await no(asked)).body).to.include({ error: 'altered' });
        });
        expect(records, 'the no has its record').to.deep.equal([]);
        const { differences } = await condition.besideLedger({ limit: 999, keysAreSubjects: true });
        expect(differences).to.deep.include({ what: 'approval', id: approvalId, how: 'text' });
      });
    }

    it('is deleted with its task, and the record keeps the hash', async () => {
      const asked = await waiting();
      const { approvalId, taskId } = asked.approval;
      const [refused] = await mandate.recorded(() => no(asked, { reason: LINE }));
      const lines = () => mandate.sql(`select says from approvals where approval_id = '${approvalId}'`);
      await mandate.admin('DELETE', `/admin/tasks/${taskId}`);
      await mandate.jobs.sweep();
      expect(await lines()).to.deep.equal([{ says: LINE }]);
      mandate.clock.advance(300);
      await mandate.jobs.sweep();
      mandate.clock.advance(-300);
      expect(await lines()).to.deep.equal([]);
      const kept = (await mandate.ledger()).find(({ seq }) => seq === refused?.seq);
      expect(kept?.detail).to.match(/&says=[0-9a-f]{64}$/);
    });

    it('is not told if the row got a line that the person did not write', async () => {
      const asked = await waiting();
      await no(asked);
      await mandate.sql(
        `update approvals set says = 'Go on', says_salt = '${'s'.repeat(43)}' where approval_id = '${asked.approval.approvalId}'`,
      );
      expect(await asked.ask()).to.deep.equal({ state: 'refused' });
    });
  });
}
