/**
 * The owner of the database changes the row of an approval. Shown, answered and used is only what the ledger has: its words,
 * its names and its state (docs/approvals.md, "What it proves").
 */

import { expect } from 'chai';
import type { TaskApproval } from '../../application/ports/approvals.ts';
import { ALTERED_WORDS, FORGED, rewritten } from '../support/approvals-altered.ts';
import { databasesByLength } from '../support/databases.ts';
import { JIRA, type Mandate, type RegisteredAgent, startMandate } from '../support/mandate.ts';
import {
  type AskingServer,
  approvalSettings,
  askingServer,
  asks,
  digestOf,
} from '../support/tool-server/approval-request.ts';

const ME = 'https://mandate.test/me';

for (const database of databasesByLength) {
  describe(`An approval whose row was changed, on ${database.name}`, function () {
    this.timeout(60_000);
    let mandate: Mandate;
    let agent: RegisteredAgent;
    let jira: AskingServer;
    before(async () => {
      jira = await askingServer(JIRA, { issuer: () => mandate.issuer, now: () => mandate.clock.seconds() });
      const settings = { 'Service:Me:Audience': ME, 'Service:Me:ClientId': 'the-page', ...approvalSettings(jira) };
      mandate = await startMandate({ database, settings });
      mandate.clock.standStill();
      agent = await mandate.agent({ max_task_ttl: 'PT1H', max_token_ttl: 'PT1H' });
    });
    after(() => mandate.stop());

    async function waiting(what = 'delete 7', sub = `ada-${Math.random()}`) {
      const { access_token: token, task_id: taskId } = (await agent.exchangeFor({ sub })).body;
      const ask = (digest = digestOf(what)) => asks(mandate, token, jira.request(taskId, { digest }));
      const { approval_id: id } = (await ask()).body;
      const approval = await mandate.approval(String(id));
      return { approval, ask, sub, taskId };
    }
    const headersOf = (sub: string) => ({
      authorization: `Bearer ${agent.subjectToken({ sub, aud: ME, auth_time: mandate.clock.seconds() })}`,
    });
    const list = (sub: string) => mandate.get('/me/approvals', headersOf(sub));
    const say = (decision: string, { approvalId, commitment }: TaskApproval, sub: string) =>
      mandate.send(`/me/approvals/${approvalId}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headersOf(sub) },
        body: JSON.stringify({ decision, commitment }),
      });
    const run = async (statements: readonly string[]) => {
      for (const statement of statements) await mandate.sql(statement);
    };
    /** Restores every column that a test may have changed. */
    const restore = async (kept: readonly Readonly<Record<string, unknown>>[]) => {
      const [row] = kept;
      const text = (name: string) => `'${String(row?.[name]).replaceAll("'", "''")}'`;
      await mandate.sql(
        `update approvals set ${['title', 'lines', 'salt', 'digest', 'commitment', 'sponsor_key']
          .map((name) => `${name} = ${text(name)}`)
          .join(', ')} where approval_id = ${text('approval_id')}`,
      );
    };
    const rowOf = (id: string) =>
      mandate.sql(
        `select approval_id, title, cast(lines as text) as lines, salt, digest, commitment, sponsor_key, state
           from approvals where approval_id = '${id}'`,
      );
    const errors = () => mandate.log.lines.filter((line) => line.includes('"level":"error"'));

    async function expectShownToNobody({ approval, sub }: Awaited<ReturnType<typeof waiting>>): Promise<void> {
      const before = errors().length;
      const listed = await list(sub);
      expect(listed.status).to.equal(409);
      expect(listed.body).to.include({ error: 'altered' });
      expect(listed.text).not.to.contain(FORGED.title).and.not.to.contain('Red Cross');
      for (const decision of ['approve', 'refuse']) {
        const records = await mandate.recorded(async () => {
          const { status, body } = await say(decision, await mandate.approval(approval.approvalId), sub);
          expect({ status, error: body.error }).to.deep.equal({ status: 409, error: 'altered' });
        });
        expect(records).to.deep.equal([]);
      }
      const said = errors().slice(before);
      expect(said).to.have.lengthOf(3);
      for (const line of said) expect(line).to.contain(approval.approvalId).and.not.to.contain(FORGED.title);
    }

    async function expectNotUsed(
      ask: Awaited<ReturnType<typeof waiting>>['ask'],
      digest = digestOf('delete 7'),
    ): Promise<void> {
      const before = errors().length;
      const records = await mandate.recorded(async () => {
        const { status, body } = await ask(digest);
        expect({ status, error: body.error }).to.deep.equal({ status: 503, error: 'temporarily_unavailable' });
        expect(body).not.to.have.property('state');
      });
      expect(records.map(({ event, reason }) => [event, reason])).to.deep.equal([['token.denied', 'approval_altered']]);
      expect(errors().length).to.equal(before + 1);
    }

    for (const [name, change] of Object.entries({
      ...ALTERED_WORDS,
      'words rewritten by delete and insert': rewritten,
    })) {
      it(`is neither shown nor answered: ${name}`, async () => {
        const asked = await waiting();
        const { approval, ask, sub } = asked;
        const kept = await rowOf(approval.approvalId);
        await run(change(approval));
        await expectShownToNobody(asked);
        const [{ digest = '' } = {}] = (await rowOf(approval.approvalId)) as { digest?: string }[];
        await expectNotUsed(ask, digest);
        await restore(kept);
        expect((await list(sub)).status).to.equal(200);
        expect((await say('approve', approval, sub)).body).to.deep.equal({ state: 'granted' });

        // The same change after the yes.
        await run(change(approval));
        await expectNotUsed(ask, digest);
        await restore(kept);
        expect((await ask()).body.state).to.equal('granted');
      });
    }

    it('is not shown to another person, who gets a key that the ledger does not name', async () => {
      const asked = await waiting();
      const { approval, ask } = asked;
      const other = `mallory-${Math.random()}`;
      await mandate.sql(`update approvals set sponsor_key = '${other}' where approval_id = '${approval.approvalId}'`);
      await expectShownToNobody({ ...asked, sub: other });
      await expectNotUsed(ask);
      // The row of the task is no witness for it.
      await mandate.sql(`update tasks set sponsor_key = '${other}' where task_id = '${approval.taskId}'`);
      await expectShownToNobody({ ...asked, sub: other });
      await expectNotUsed(ask);
      const opened = await mandate.recorded(() => ask(digestOf('another action')));
      expect(opened.map(({ event, reason }) => [event, reason])).to.deep.equal([['token.denied', 'approval_altered']]);
      await mandate.sql(`update tasks set sponsor = '${other}' where task_id = '${approval.taskId}'`);
      await expectShownToNobody({ ...asked, sub: other });
    });

    const granted = "state = 'granted', decided_at = requested_at, closed_at = null";
    const STATES = {
      'a yes that the person did not say': { said: [], set: granted },
      'a yes in place of a no': { said: ['refuse'], set: granted },
      'a yes that was used, set back': { said: ['approve', 'ask'], set: "state = 'granted', closed_at = null" },
    } as const;
    for (const [name, { said, set }] of Object.entries(STATES)) {
      it(`is not used and not answered: ${name}`, async () => {
        const asked = await waiting();
        const { approval, ask, sub } = asked;
        for (const each of said) {
          if (each === 'ask') expect((await ask()).body.state).to.equal('granted');
          else expect((await say(each, approval, sub)).status).to.equal(200);
        }
        await mandate.sql(`update approvals set ${set} where approval_id = '${approval.approvalId}'`);
        await expectNotUsed(ask);
        const answer = await say('approve', approval, sub);
        expect(answer.status).to.equal(409);
        expect(answer.body).to.include({ error: 'altered' });
      });
    }

    it("lets no call through by the yes to another call, whose row got this call's digest", async () => {
      const { approval, ask, sub, taskId } = await waiting('read 7');
      expect((await say('approve', approval, sub)).status).to.equal(200);
      await mandate.sql(
        `update approvals set digest = '${digestOf('delete 7')}' where approval_id = '${approval.approvalId}'`,
      );
      await expectNotUsed(ask, digestOf('delete 7'));
      const used = (await mandate.ledger()).filter(
        ({ event, task_id }) => event === 'approval.used' && task_id === taskId,
      );
      expect(used).to.deep.equal([]);
    });

    it('asks anew after a closed one, whatever its row says', async () => {
      const { approval, ask, sub } = await waiting();
      await say('approve', approval, sub);
      expect((await ask()).body.state).to.equal('granted');
      await mandate.sql(
        `update approvals set title = 'x', state = 'expired' where approval_id = '${approval.approvalId}'`,
      );
      const again = (await ask()).body;
      expect(again.state).to.equal('pending');
      expect(again.approval_id).not.to.equal(approval.approvalId);
    });
  });
}
