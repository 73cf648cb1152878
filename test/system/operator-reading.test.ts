/**
 * The reads of operators with `Service:Operators`: tasks and blocks in pages, more filters of the ledger, its stream.
 */

import { expect } from 'chai';
import { databasesByLength } from '../support/databases.ts';
import { JIRA, type Mandate, type RegisteredAgent, startMandate, WIKI } from '../support/mandate.ts';
import { errorsOf, readService } from './operator-reading/service.ts';
import { testStream } from './operator-reading/stream.ts';

type Item = Readonly<Record<string, unknown>>;

/** All items of a list, in pages of this size. */
async function itemsOf(mandate: Mandate, path: string, name: string, limit: number): Promise<readonly Item[]> {
  const items: Item[] = [];
  let cursor: unknown = null;
  do {
    const { status, body } = await mandate.admin(
      'GET',
      `${path}&limit=${limit}${cursor === null ? '' : `&cursor=${cursor}`}`,
    );
    expect(status, path).to.equal(200);
    items.push(...(body[name] as Item[]));
    cursor = body.next_cursor;
  } while (cursor !== null);
  return items;
}

for (const database of databasesByLength) {
  describe(`Reading by operators on ${database.name}`, function () {
    this.timeout(60_000);
    const service = readService(database);

    const start = async (by: RegisteredAgent, sub: string, resource = JIRA) => {
      const { status, body } = await by.exchangeFor({ sub }, { resource });
      expect(status).to.equal(200);
      return String(body.task_id);
    };

    const tasksOf = async (query: string, limit = 100) =>
      (await itemsOf(service.mandate, `/admin/tasks?${query}`, 'tasks', limit)).map(({ task_id }) => task_id);

    it('lists live tasks newest first, selects by each filter, and shows one task with the numbers of its records', async () => {
      const { mandate, agent, other } = service;
      const [first, second] = [await start(agent, 'ada'), await start(other, 'ada', WIKI)];
      const [third, ended] = [await start(agent, 'bob'), await start(agent, 'ada')];
      await mandate.admin('DELETE', `/admin/tasks/${ended}`);
      for (const limit of [1, 2, 100]) expect(await tasksOf('', limit)).to.deep.equal([third, second, first]);
      expect(await tasksOf('sponsor=ada')).to.deep.equal([second, first]);
      expect(await tasksOf(`agent_id=${agent.id}`)).to.deep.equal([third, first]);
      expect(await tasksOf(`audience=${encodeURIComponent(WIKI)}`)).to.deep.equal([second]);
      expect(await tasksOf(`sponsor=ada&agent_id=${agent.id}&state=revoked`)).to.deep.equal([ended]);
      expect(await tasksOf('state=expired')).to.deep.equal([]);

      const records = (await mandate.ledger()).filter(({ task_id }) => task_id === ended);
      const { status, body } = await mandate.admin('GET', `/admin/tasks/${ended}`);
      const { started_at, expires_at, ended_at, ...task } = body;
      expect(status).to.equal(200);
      expect(task).to.deep.equal({
        task_id: ended,
        agent_id: agent.id,
        display_name: 'Triage',
        sponsor: 'ada',
        sponsor_key: 'ada',
        audience: JIRA,
        scope: 'jira:read jira:comment',
        delegation_depth: 1,
        parent_task_id: null,
        state: 'revoked',
        reason: 'operator_kill_switch',
        renewals: 0,
        records: records.map(({ seq }) => seq),
        next_cursor: null,
      });
      for (const at of [started_at, expires_at, ended_at]) expect(at).to.match(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
      expect(records.map(({ event }) => event)).to.deep.equal(['token.issued', 'task.revoked']);

      mandate.clock.advance(3 * 3600);
      expect(await tasksOf('')).to.deep.equal([]);
      expect(await tasksOf('state=expired', 2)).to.deep.equal([third, second, first]);
      const [, expired] = await itemsOf(mandate, '/admin/tasks?state=expired', 'tasks', 100);
      expect(expired).to.include({ state: 'expired', reason: 'task_ttl_elapsed' });
      expect(expired?.ended_at).to.equal(expired?.expires_at);
    });

    it('lists blocks newest first, and selects by source', async () => {
      const { mandate } = service;
      for (const key of ['grace', 'hedy', 'idä']) {
        await mandate.admin('PUT', `/admin/sponsors/${encodeURIComponent(key)}/block`);
        mandate.clock.advance(1);
      }
      for (const query of ['', 'source=admin']) {
        for (const limit of [1, 2, 100]) {
          const blocks = await itemsOf(mandate, `/admin/sponsors?${query}`, 'sponsors', limit);
          expect(blocks.map(({ sponsor_key }) => sponsor_key)).to.deep.equal(['idä', 'hedy', 'grace']);
          expect(blocks[0])
            .to.include({ source: 'admin', kind: 'disabled' })
            .and.have.keys('sponsor_key', 'source', 'kind', 'blocked_at');
        }
      }
      expect(await itemsOf(mandate, '/admin/sponsors?source=scim', 'sponsors', 100)).to.deep.equal([]);
    });

    it('refuses a cursor of another query, and unknown or repeated parameters, with the name of the field', async () => {
      const { mandate, agent } = service;
      const cursorOf = async (path: string) => String((await mandate.admin('GET', path)).body.next_cursor);
      for (let nth = 0; nth < 2; nth++) await start(agent, 'ada');
      const ofTasks = await cursorOf('/admin/tasks?limit=1');
      const ofBlocks = await cursorOf('/admin/sponsors?limit=1');
      const ofRecords = await cursorOf('/audit?limit=1');
      for (const cursor of [ofTasks, ofBlocks, ofRecords]) expect(cursor).to.match(/^[\w-]+$/);
      const foreign = [ofBlocks, ofRecords, 'AAAA', '', `${ofTasks}A`, 'no cursor'].map(
        (one) => `/admin/tasks?cursor=${encodeURIComponent(one)}`,
      );
      const changed = ['state=revoked', 'sponsor=ada', `agent_id=${agent.id}`, 'audience=x'].map(
        (one) => `/admin/tasks?cursor=${ofTasks}&${one}`,
      );
      const blocks = [ofTasks, ofRecords, `${ofBlocks}&source=admin`].map((one) => `/admin/sponsors?cursor=${one}`);
      for (const path of [...foreign, ...changed, ...blocks, `/audit?cursor=${ofTasks}`]) {
        expect(await errorsOf(mandate, path), path).to.deep.equal(['cursor']);
      }
      expect(await errorsOf(mandate, '/audit?event=token.issued&cursor=x&audience=')).to.have.members([
        'cursor',
        'audience',
      ]);
      expect((await mandate.admin('GET', `/admin/tasks?cursor=${ofTasks}&limit=7`)).status).to.equal(200);
      for (const field of [
        'state=Live',
        'state=',
        'agent_id=A',
        'sponsor=a%20b',
        'audience=%00',
        'limit=0',
        'limit=1001',
        'seq=1',
      ]) {
        expect(await errorsOf(mandate, `/admin/tasks?${field}`)).to.deep.equal([field.split('=')[0]]);
      }
      expect(await errorsOf(mandate, '/admin/tasks?state=live&state=live')).to.deep.equal(['state']);
      for (const field of ['source=nobody', 'source=', 'state=live', 'limit=x']) {
        expect(await errorsOf(mandate, `/admin/sponsors?${field}`)).to.deep.equal([field.split('=')[0]]);
      }
    });

    testStream(service, database);
  });

  describe(`Without operators on ${database.name}`, () => {
    let mandate: Mandate;
    before(async () => {
      mandate = await startMandate({ database });
    });
    after(() => mandate.stop());

    it('the key ends everything, and the list of tasks is unknown', async () => {
      const agent = await mandate.agent();
      const issued = [await agent.exchange(), await agent.exchangeFor({ sub: 'grace' })];
      const records = await mandate.recorded(async () => {
        const answer = await mandate.admin('DELETE', '/admin/tasks');
        expect([answer.status, answer.body]).to.deep.equal([200, { revoked_tasks: 2 }]);
      });
      expect(records.map(({ event, task_id, reason }) => [event, task_id, reason])).to.have.deep.members(
        issued.map(({ body }) => ['task.revoked', body.task_id, 'operator_kill_switch']),
      );
      for (const filter of ['?sponsor=grace', '?limit=1']) {
        const answer = await mandate.admin('DELETE', `/admin/tasks${filter}`);
        expect([answer.status, Object.values(answer.body.errors as object)]).to.deep.equal([
          400,
          [['Is not a parameter here.']],
        ]);
      }
      expect((await mandate.admin('POST', '/admin/tasks')).status).to.equal(404);
    });

    it('their paths and filters do not exist', async () => {
      for (const path of ['/admin/tasks', '/admin/sponsors', '/audit/stream']) {
        const answer = await mandate.admin('GET', path);
        expect([answer.status, answer.body.detail], path).to.deep.equal([404, 'There is nothing at this path.']);
      }
      const task = await mandate.admin('GET', '/admin/tasks/task_01M31S7W68TMK7WDX8YKPSYTES');
      expect([task.status, task.headers.get('allow')]).to.deep.equal([405, 'DELETE']);
      const { body } = await mandate.admin('GET', '/audit?event=token.issued&audience=x');
      const sentence = ['Is not a parameter here.'];
      expect(body.errors).to.deep.equal({ event: sentence, audience: sentence });
    });
  });
}
