/** A person refuses that an agent hands work to other agents, and allows it again, by the API (`Service:Delegation`). */

import { expect } from 'chai';
import { databasesByLength } from '../../support/databases.ts';
import { delegationAt, heldTask } from '../../support/delegation.ts';
import { type Answer, fieldsOf, type Mandate, type RegisteredAgent, startMandate } from '../../support/mandate.ts';

const ME = 'https://mandate.test/me';
const ENABLED = 'Service:Delegation:Enabled';

for (const database of databasesByLength) {
  describe(`A person's refusal of an agent's handing-over on ${database.name}`, () => {
    let mandate: Mandate;
    let off: Mandate;
    let agent: RegisteredAgent;
    let other: RegisteredAgent;
    let person: string;
    let number = 0;
    before(async () => {
      mandate = await startMandate({ database, settings: { 'Service:Me:Audience': ME, [ENABLED]: 'true' } });
      off = await mandate.another({ [ENABLED]: '' });
      mandate.clock.standStill();
      agent = await mandate.agent({ display_name: 'Jira triage' });
      other = await mandate.agent({ display_name: 'Planner' });
    });
    beforeEach(() => {
      number += 1;
      person = `ada-${number}`;
    });
    after(async () => {
      await off.stop();
      await mandate.stop();
    });

    const my = (method: string, path: string, { signedIn = 0, at = mandate, sub = person } = {}) => {
      const claims = { sub, aud: ME, auth_time: mandate.clock.seconds() - signedIn };
      return at.send(path, { method, headers: { authorization: `Bearer ${agent.subjectToken(claims)}` } });
    };
    const choose = async (method: 'PUT' | 'DELETE', of = agent.id, options: Parameters<typeof my>[2] = {}) => {
      const { status, text } = await my(method, `/me/agents/${of}/no-delegation`, options);
      return [status, text];
    };
    const refusals = async () =>
      (await mandate.sql(`select agent_id from delegation_refusals where sponsor_key = '${person}'`)).map(
        ({ agent_id }) => agent_id,
      );
    const recordsOf = (lines: Awaited<ReturnType<Mandate['recorded']>>) =>
      fieldsOf(lines, 'event', 'decision', 'reason', 'sponsor', 'agent_id', 'task_id', 'detail');

    it('stores and records the first refusal and the first permission; a repetition is 204 and writes nothing', async () => {
      const { id: agentId } = agent;
      for (const [method, event, stored] of [
        ['PUT', 'delegation.refused', [agentId]],
        ['DELETE', 'delegation.allowed', []],
        ['PUT', 'delegation.refused', [agentId]],
      ] as const) {
        const first = await mandate.recorded(async () => expect(await choose(method)).to.deep.equal([204, '']));
        expect(recordsOf(first)).to.deep.equal([[event, 'allow', null, person, agentId, null, `agent=${agentId}`]]);
        expect(await refusals()).to.deep.equal(stored);
        const again = await mandate.recorded(async () => expect(await choose(method)).to.deep.equal([204, '']));
        expect(again).to.deep.equal([]);
        expect(await refusals()).to.deep.equal(stored);
      }
      // The person reads it among their own records.
      const mine = (await my('GET', '/me/records')).body.records as readonly Record<string, unknown>[];
      expect(mine.map(({ event }) => event)).to.deep.equal([
        ...['delegation.refused', 'delegation.allowed', 'delegation.refused'],
      ]);
    });

    it('leaves each task its parent in the list, and a stop of the parent ends both; off, the list has no such member', async () => {
      const deep = { max_delegation_depth: 2 };
      const child = await mandate.agent(deep);
      const parent = await mandate.agent({ ...deep, delegates_to: [child.id] });
      const root = heldTask(await parent.exchangeFor({ sub: person }));
      const below = await delegationAt(mandate).handOver(parent, child, root);
      const listed = async (at = mandate) =>
        (await my('GET', '/me/tasks', { at })).body.tasks as Record<string, unknown>[];
      expect((await listed()).map((task) => [task.task_id, task.parent_task_id, task.state])).to.deep.equal([
        [below.taskId, root.taskId, 'live'],
        [root.taskId, null, 'live'],
      ]);
      for (const task of await listed(off)) expect(task).to.not.have.property('parent_task_id');
      const lines = await mandate.recorded(async () => {
        expect((await my('DELETE', `/me/tasks/${root.taskId}`)).body).to.include({ revoked_tasks: 2 });
      });
      expect(fieldsOf(lines, 'event', 'task_id', 'reason')).to.deep.equal([
        ['task.revoked', root.taskId, 'sponsor_stopped'],
        ['task.revoked', below.taskId, 'parent_revoked'],
      ]);
    });

    it('refuses the permission after an old sign-in, with its record, and needs no sign-in for the refusal', async () => {
      expect(await choose('PUT', agent.id, { signedIn: 86_400 })).to.deep.equal([204, '']);
      for (const [signedIn, status] of [
        [361, 401],
        [360, 204],
      ] as const) {
        const lines = await mandate.recorded(async () => {
          const answer = await my('DELETE', `/me/agents/${agent.id}/no-delegation`, { signedIn });
          expect(answer.status, answer.text).to.equal(status);
          if (status === 204) return;
          expect(answer.body.error).to.equal('insufficient_user_authentication');
          expect(answer.headers.get('www-authenticate')).to.equal(
            'Bearer error="insufficient_user_authentication", max_age=300',
          );
        });
        if (status === 401) {
          expect(recordsOf(lines)).to.deep.equal([
            ['me.denied', 'deny', 'sign_in_too_old', person, null, null, undefined],
          ]);
        }
        expect(await refusals()).to.deep.equal(status === 401 ? [agent.id] : []);
      }
      // Nothing is to be permitted, so no sign-in is asked for.
      const again = await mandate.recorded(async () =>
        expect(await choose('DELETE', agent.id, { signedIn: 9999 })).to.deep.equal([204, '']),
      );
      expect(again).to.deep.equal([]);
    });

    it('tells with each task whether its agent is refused, for this person alone', async () => {
      for (const of of [agent, other]) expect((await of.exchangeFor({ sub: person })).status).to.equal(200);
      await choose('PUT', other.id);
      await choose('PUT', agent.id, { sub: 'grace' });
      const listed = async (at = mandate) => {
        const { tasks } = (await my('GET', '/me/tasks', { at })).body;
        return (tasks as readonly Record<string, unknown>[]).map(({ agent_id, delegation_refused }) => [
          agent_id,
          delegation_refused,
        ]);
      };
      expect(await listed()).to.deep.equal([
        [other.id, true],
        [agent.id, false],
      ]);
      expect(await listed(off)).to.deep.equal([
        [other.id, undefined],
        [agent.id, undefined],
      ]);
    });

    it('answers 404 for an agent that is not registered, however it is written, and writes nothing', async () => {
      const lines = await mandate.recorded(async () => {
        for (const method of ['PUT', 'DELETE'] as const) {
          for (const id of ['nobody', 'No-Agent', 'a%20b', 'x'.repeat(129)]) {
            const { status, body } = await my(method, `/me/agents/${id}/no-delegation`);
            expect([status, body.detail], id).to.deep.equal([404, 'There is no such agent.']);
          }
        }
        expect((await my('PUT', '/me/agents/%zz/no-delegation')).status).to.equal(400);
        const read = await my('GET', `/me/agents/${agent.id}/no-delegation`);
        expect([read.status, read.headers.get('allow')]).to.deep.equal([405, 'PUT, DELETE']);
      });
      expect(lines).to.deep.equal([]);
    });

    it('deletes the refusals with the agent: another registration of the id begins without them', async () => {
      const gone = await mandate.agent({ display_name: 'Short' });
      await choose('PUT', gone.id);
      await choose('PUT', other.id);
      expect(await refusals()).to.have.members([gone.id, other.id]);
      expect((await mandate.admin('DELETE', `/admin/agents/${gone.id}`)).status).to.equal(204);
      expect(await refusals()).to.deep.equal([other.id]);
      expect((await choose('DELETE', gone.id))[0]).to.equal(404);
    });

    it('refuses offers and what was offered before, each with its record, and leaves running child tasks alone', async () => {
      const worker = await mandate.agent({ max_delegation_depth: 2 });
      const planner = await mandate.agent({ max_delegation_depth: 2, delegates_to: [worker.id] });
      const TYPE = 'urn:ietf:params:oauth:token-type:';
      const started = (await planner.exchangeFor({ sub: person })).body;
      const offer = () =>
        planner.exchange({
          subject_token: String(started.refresh_token),
          subject_token_type: `${TYPE}refresh_token`,
          requested_token_type: `${TYPE}jwt`,
          audience: `agent:${worker.id}`,
        });
      const takeUp = ({ body }: Answer) =>
        worker.exchange({ subject_token: String(body.access_token), subject_token_type: `${TYPE}jwt` });
      const running = await takeUp(await offer());
      expect(running.status, running.text).to.equal(200);
      const waiting = await offer();
      await choose('PUT', planner.id);
      const lines = await mandate.recorded(async () => {
        for (const answer of [await offer(), await takeUp(waiting)]) {
          expect([answer.status, answer.body.error, answer.body.reason], answer.text).to.deep.equal([
            ...[400, 'access_denied', 'delegation_refused_by_person'],
          ]);
        }
      });
      expect(fieldsOf(lines, 'event', 'decision', 'reason')).to.deep.equal([
        ['token.denied', 'deny', 'delegation_refused_by_person'],
        ['token.denied', 'deny', 'delegation_refused_by_person'],
      ]);
      expect((await worker.refresh(String(running.body.refresh_token))).status).to.equal(200);
      await choose('DELETE', planner.id);
      // The refused take-up did not spend the offer.
      expect((await takeUp(waiting)).status).to.equal(200);
    });

    it('is an unknown path where the feature is off, with the answer of any other unknown path', async () => {
      for (const method of ['PUT', 'DELETE', 'GET']) {
        const answers = await Promise.all(
          ['no-delegation', 'no-such-path'].map((last) => my(method, `/me/agents/${agent.id}/${last}`, { at: off })),
        );
        const [refusal, unknown] = answers.map(({ status, text, headers }) => [
          status,
          text.replaceAll('no-delegation', 'no-such-path'),
          headers.get('allow'),
        ]);
        expect(refusal?.[0]).to.equal(404);
        expect(refusal).to.deep.equal(unknown);
      }
      expect(await refusals()).to.deep.equal([]);
    });

    it('needs a credential of the person: 401 without one', async () => {
      const { status } = await mandate.send(`/me/agents/${agent.id}/no-delegation`, { method: 'PUT' });
      expect(status).to.equal(401);
    });
  });
}
