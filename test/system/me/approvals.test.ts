/** A person's answers by the API: what waits for them, a yes with a recent sign-in, and a no. */

import { expect } from 'chai';
import type { TaskApproval } from '../../../application/ports/approvals.ts';
import { databasesByLength } from '../../support/databases.ts';
import {
  fieldsOf,
  JIRA,
  type Mandate,
  type RegisteredAgent,
  startMandate,
  withService,
} from '../../support/mandate.ts';
import {
  type AskingServer,
  approvalSettings,
  askingServer,
  asks,
  digestOf,
} from '../../support/tool-server/approval-request.ts';

const ME = 'https://mandate.test/me';

for (const database of databasesByLength) {
  describe(`A person's approvals on ${database.name}`, () => {
    let mandate: Mandate;
    let agent: RegisteredAgent;
    let jira: AskingServer;
    let person: string;
    let number = 0;
    before(async () => {
      const clock = { issuer: () => mandate.issuer, now: () => mandate.clock.seconds() };
      jira = await askingServer(JIRA, clock);
      mandate = await startMandate({
        database,
        settings: {
          'Service:Me:Audience': ME,
          'Service:Me:ClientId': 'the-page',
          ...approvalSettings(jira),
          'Service:Approvals:MaxAuthAge': 'PT2M',
        },
      });
      mandate.clock.standStill();
      agent = await mandate.agent({ display_name: 'Jira triage' });
    });
    beforeEach(() => {
      number += 1;
      person = `ada-${number}`;
    });
    after(() => mandate.stop());

    const headers = (claims: object) => ({
      authorization: `Bearer ${agent.subjectToken({ sub: person, aud: ME, auth_time: mandate.clock.seconds(), ...claims })}`,
    });
    const list = async (claims: object = {}) => mandate.get('/me/approvals', headers(claims));
    const answer = (id: string, body: unknown, claims: object = {}) =>
      mandate.send(`/me/approvals/${id}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers(claims) },
        body: JSON.stringify(body),
      });
    const yes = ({ commitment }: TaskApproval) => ({ decision: 'approve', commitment });
    const no = ({ commitment }: TaskApproval) => ({ decision: 'refuse', commitment });
    async function waiting(claims: object = {}) {
      const { access_token: token, task_id: taskId } = (await agent.exchangeFor({ sub: person })).body;
      const ask = async () => (await asks(mandate, token, jira.request(taskId, claims))).body;
      const approval = await mandate.approval(String((await ask()).approval_id));
      return { approval, ask, taskId: String(taskId) };
    }
    const recordsOf = (lines: Awaited<ReturnType<Mandate['recorded']>>) =>
      fieldsOf(lines, 'event', 'decision', 'reason', 'sponsor', 'task_id');

    it('lists only what waits for the person, with the words as the tool server sent them', async () => {
      const { approval, taskId } = await waiting({ lines: [{ label: 'Issue', value: 'a\u202eb' }] });
      const second = await waiting({ digest: digestOf('another'), lines: [] });
      await mandate.answer(second.approval.approvalId, 'refuse');
      const { status, body } = await list();
      expect(status).to.equal(200);
      const [shown, ...others] = body.approvals as readonly Record<string, unknown>[];
      expect(others).to.deep.equal([]);
      expect(shown).to.deep.equal({
        approval_id: approval.approvalId,
        task_id: taskId,
        agent_id: agent.id,
        display_name: 'Jira triage',
        audience: JIRA,
        title: 'Delete the issue',
        lines: [{ label: 'Issue', value: 'a\u202eb' }],
        commitment: approval.commitment,
        requested_at: shown?.requested_at,
        expires_at: shown?.expires_at,
      });
      expect((await list({ sub: 'somebody-else' })).body).to.deep.equal({ approvals: [] });
      mandate.clock.advance(601);
      expect((await list()).body).to.deep.equal({ approvals: [] });
    });

    it('takes a yes once, which the tool server is told once, and records it with the person', async () => {
      const { approval, ask, taskId } = await waiting();
      const lines = await mandate.recorded(async () => {
        for (const nth of [1, 2]) {
          const given = await answer(approval.approvalId, yes(approval));
          expect([given.status, given.body], `${nth}`).to.deep.equal([200, { state: 'granted' }]);
        }
        expect((await ask()).state).to.equal('granted');
        expect((await ask()).state).to.equal('spent');
      });
      expect(recordsOf(lines)).to.deep.equal([
        ['approval.granted', 'allow', null, person, taskId],
        ['approval.used', 'allow', null, person, taskId],
      ]);
    });

    it('takes a no from an old sign-in, and a yes from a recent one only: 401 with max_age, recorded', async () => {
      const { approval, taskId } = await waiting();
      const old = { auth_time: mandate.clock.seconds() - 120 - 61 };
      for (const claims of [old, { auth_time: undefined }, { auth_time: mandate.clock.seconds() + 61 }]) {
        const lines = await mandate.recorded(async () => {
          const refused = await answer(approval.approvalId, yes(approval), claims);
          expect(refused.status).to.equal(401);
          expect(refused.headers.get('www-authenticate')).to.equal(
            'Bearer error="insufficient_user_authentication", max_age=120',
          );
          expect(refused.body.error).to.equal('insufficient_user_authentication');
        });
        expect(recordsOf(lines)).to.deep.equal([['me.denied', 'deny', 'approver_not_fresh', person, taskId]]);
      }
      // Both clocks may differ by a minute.
      expect(
        (await answer(approval.approvalId, yes(approval), { auth_time: mandate.clock.seconds() - 180 })).status,
      ).to.equal(200);
      const second = await waiting();
      const lines = await mandate.recorded(async () => {
        const refused = await answer(second.approval.approvalId, no(second.approval), old);
        expect([refused.status, refused.body]).to.deep.equal([200, { state: 'refused' }]);
      });
      expect(recordsOf(lines)).to.deep.equal([['approval.refused', 'deny', 'approval_refused', person, second.taskId]]);
    });

    it('refuses other words, a second answer and one after the end with 409, and records no grant', async () => {
      const { approval } = await waiting();
      const { approvalId } = approval;
      const lines = await mandate.recorded(async () => {
        const other = await answer(approvalId, { decision: 'approve', commitment: 'b'.repeat(64) });
        expect([other.status, other.body.error]).to.deep.equal([409, 'other_words']);
      });
      expect(lines).to.deep.equal([]);
      expect((await answer(approvalId, yes(approval))).status).to.equal(200);
      const ended = await waiting();
      await mandate.admin('DELETE', `/admin/tasks/${ended.taskId}`);
      const after = await mandate.recorded(async () => {
        for (const [given, body] of [
          [approval, no(approval)],
          [ended.approval, yes(ended.approval)],
          [ended.approval, no(ended.approval)],
        ] as const) {
          const late = await answer(given.approvalId, body);
          expect([late.status, late.body.error]).to.deep.equal([409, 'not_waiting']);
        }
      });
      expect(after).to.deep.equal([]);
    });

    it('answers another person as if there were no approval', async () => {
      const { approval } = await waiting();
      const unknown = 'approval_01KAY3Q4W8E6ZP0V5S9N2B7DTF';
      const lines = await mandate.recorded(async () => {
        const [foreign, none] = [
          await answer(approval.approvalId, yes(approval), { sub: 'somebody-else' }),
          await answer(unknown, yes(approval)),
        ];
        expect(foreign.status).to.equal(404);
        expect(foreign.text).to.equal(none.text);
      });
      expect(lines).to.deep.equal([]);
      expect((await list()).body.approvals).to.have.lengthOf(1);
    });
  });
}

for (const database of databasesByLength)
  describe(`/me without approvals on ${database.name}`, () => {
    it('has no path of an approval, for a program and for a browser', () =>
      withService(
        startMandate({ database, settings: { 'Service:Me:Audience': ME, 'Service:Me:ClientId': 'the-page' } }),
        async (mandate) => {
          const agent = await mandate.agent();
          const authorization = `Bearer ${agent.subjectToken({ aud: ME })}`;
          const id = 'approval_01KAY3Q4W8E6ZP0V5S9N2B7DTF';
          const unknown = (await mandate.get('/me/nothing', { authorization })).text;
          for (const path of ['/me/approvals', `/me/approvals/${id}`]) {
            const answer = await mandate.get(path, { authorization });
            expect([answer.status, answer.text]).to.deep.equal([404, unknown]);
          }
          const signIn = await mandate.get(`/me/sign-in?to=${id}`, { accept: 'text/html' });
          expect(signIn.status).to.equal(400);
        },
      ));
  });
