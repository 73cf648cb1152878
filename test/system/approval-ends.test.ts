/** Each end of a task withdraws its pending and its granted approvals. */

import { expect } from 'chai';
import { databasesByLength } from '../support/databases.ts';
import { answering } from '../support/loopback.ts';
import { fieldsOf, JIRA, type Mandate, startMandate } from '../support/mandate.ts';
import { sharedSigningKey } from '../support/shared-signing-key.ts';
import {
  type AskingServer,
  approvalSettings,
  askingServer,
  asks,
  digestOf,
} from '../support/tool-server/approval-request.ts';
import { startUserDirectory } from '../support/user-directory.ts';

const ME = 'https://mandate.test/me';

for (const database of databasesByLength) {
  describe(`Approvals, when their task ends, on ${database.name}`, function () {
    this.timeout(30_000);
    let mandate: Mandate;
    let jira: AskingServer;
    let number = 0;
    before(async () => {
      const now = () => mandate.clock.seconds();
      jira = await askingServer(JIRA, { issuer: () => mandate.issuer, now });
      mandate = await startMandate({
        database,
        settings: {
          ...sharedSigningKey(),
          'Service:Me:Audience': ME,
          'Service:Me:ClientId': 'the-page',
          ...approvalSettings(jira),
          'Service:Tasks:Retention': 'PT2M',
        },
      });
    });
    after(async () => {
      await mandate.stop();
    });

    /** A task of a new agent for a new person, with an approval that waits and one that was granted. They would outlive it. */
    async function started() {
      number += 1;
      const [sub, sid] = [`ada-${number}`, `session-${number}`];
      const agent = await mandate.agent({ max_task_ttl: 'PT2M', max_token_ttl: 'PT2M' });
      const {
        access_token: token,
        task_id: taskId,
        refresh_token: grant,
      } = (await agent.exchangeFor({ sub, sid })).body;
      const ask = async (what: string) =>
        (await asks(mandate, token, jira.request(taskId, { digest: digestOf(what) }))).body;
      const [waiting, granted] = [String((await ask('a')).approval_id), String((await ask('b')).approval_id)];
      expect(await mandate.answer(granted, 'approve')).to.equal('granted');
      return { agent, sub, sid, taskId: String(taskId), grant: String(grant), ask, waiting, granted };
    }
    type Started = Awaited<ReturnType<typeof started>>;

    const asPerson = ({ agent, sub }: Pick<Started, 'agent' | 'sub'>) => ({
      authorization: `Bearer ${agent.subjectToken({ sub, aud: ME, auth_time: mandate.clock.seconds() })}`,
    });
    const me = (task: Started, method: string, path: string, body?: object) =>
      mandate.send(`/me${path}`, {
        method,
        headers: { ...asPerson(task), ...(body && { 'content-type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) }),
      });

    const ends: readonly (readonly [what: string, reason: string, end: (task: Started) => Promise<unknown>])[] = [
      [
        'an operator ends it',
        'operator_kill_switch',
        ({ taskId }) => mandate.admin('DELETE', `/admin/tasks/${taskId}`),
      ],
      [
        'an operator blocks its person',
        'sponsor_blocked',
        ({ sub }) => mandate.admin('PUT', `/admin/sponsors/${sub}/block`),
      ],
      ['its agent revokes it', 'client_revoked', ({ agent, grant }) => agent.revoke(grant)],
      ['its person stops it', 'sponsor_stopped', (task) => me(task, 'DELETE', `/tasks/${task.taskId}`)],
      ['its person pauses all agents', 'sponsor_paused', (task) => me(task, 'PUT', '/pause')],
      [
        'its time is up',
        'task_ttl_elapsed',
        async () => {
          mandate.clock.advance(123);
          await mandate.jobs.sweep();
        },
      ],
    ];
    for (const [what, reason, end] of ends) {
      it(`are withdrawn if ${what}, and cannot be answered or used afterwards`, async () => {
        const task = await started();
        const { taskId, ask, waiting, granted } = task;
        const lines = (await mandate.recorded(() => end(task))).filter((line) => line.task_id === taskId);
        const event = reason === 'task_ttl_elapsed' ? 'task.expired' : 'task.revoked';
        expect(fieldsOf(lines, 'event', 'reason', 'decision')).to.deep.equal([
          [event, reason, 'allow'],
          ['approval.withdrawn', reason, 'allow'],
          ['approval.withdrawn', reason, 'allow'],
        ]);
        const ids = lines.slice(1).map(({ detail }) => new URLSearchParams(String(detail)).get('approval'));
        expect(ids).to.have.members([waiting, granted]);
        for (const line of lines) {
          expect(line).to.include({ agent_id: task.agent.id, sponsor: task.sub, audience: JIRA });
        }
        const afterwards = await mandate.recorded(async () => {
          for (const what of ['a', 'b', 'c']) expect(await ask(what)).to.deep.equal({ state: 'inactive' });
          for (const id of [waiting, granted]) {
            const { state, commitment } = await mandate.approval(id);
            expect(state).to.equal('withdrawn');
            for (const decision of ['approve', 'refuse']) {
              const answer = await me(task, 'POST', `/approvals/${id}`, { decision, commitment });
              expect([answer.status, answer.body.error]).to.deep.equal([409, 'not_waiting']);
            }
          }
          expect((await me(task, 'GET', '/approvals')).body).to.deep.equal({ approvals: [] });
        });
        expect(afterwards).to.deep.equal([]);
      });
    }

    it("stay if the provider's answer refuses a renewal, which ends no task", async () => {
      const task = await started();
      const directory = await startUserDirectory(answering({ id: task.sub, enabled: false }));
      const polling = await mandate.another(directory.settings, undefined, {
        clock: mandate.clock,
        databaseClock: mandate.clock,
      });
      const lines = await mandate.recorded(async () => {
        const renewed = await polling.post('/oauth2/token', task.agent.refreshForm(task.grant));
        expect(renewed.body).to.include({ error: 'access_denied', reason: 'sponsor_disabled' });
      });
      expect(fieldsOf(lines, 'event', 'reason')).to.deep.equal([['token.denied', 'sponsor_disabled']]);
      expect((await task.ask('a')).approval_id).to.equal(task.waiting);
      expect((await task.ask('b')).state).to.equal('granted');
      await polling.stop();
      await directory.server.close();
    });

    it('are deleted with their task, before which its agent cannot be removed', async () => {
      const { agent, taskId, waiting, granted } = await started();
      const remove = async () => (await mandate.admin('DELETE', `/admin/agents/${agent.id}`)).status;
      await mandate.admin('DELETE', `/admin/tasks/${taskId}`);
      expect(await remove()).to.equal(409);
      expect((await mandate.approval(waiting)).state).to.equal('withdrawn');
      mandate.clock.advance(300);
      await mandate.jobs.sweep();
      for (const id of [waiting, granted]) {
        const found = await mandate.approval(id).catch((error: Error) => error.message);
        expect(found).to.equal(`no approval: ${id}`);
      }
      expect(await remove()).to.equal(204);
    });
  });
}
