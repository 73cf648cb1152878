/** What `GET /me/tasks` and `GET /admin/tasks/{task_id}` say of a task that its person started, and only with the door open. */

import { expect } from 'chai';
import { connectOutside, databasesByLength } from '../../support/databases.ts';
import { AUTHORIZE_CLIENT_ID, PAGE_CLIENT_ID } from '../../support/identity-provider/provider-configuration.ts';
import { startMandate } from '../../support/mandate.ts';
import { OPERATORS } from '../../support/operators.ts';

const ME = 'https://mandate.test/me';

for (const kind of databasesByLength) {
  describe(`A task that the person started, on ${kind.name}`, function () {
    this.timeout(60_000);

    it('names the request, the client and the address in the APIs of people and operators, if people may start tasks', async () => {
      const database = await kind.fresh();
      const open = {
        ...OPERATORS,
        'Service:Me:Audience': ME,
        'Service:Me:ClientId': PAGE_CLIENT_ID,
        'Service:Authorize:ClientId': AUTHORIZE_CLIENT_ID,
      };
      const mandate = await startMandate({ database: { ...kind, fresh: async () => database }, settings: open });
      const agent = await mandate.agent();
      const begin = async () => String((await agent.exchangeFor({ sub: 'ada' })).body.task_id);
      const [started, exchanged] = [await begin(), await begin()];
      const outside = await connectOutside(database);
      // As the decision that opens a task leaves it.
      await outside.sql(`insert into authorizations (request_id, browser_hash, agent_id, client, redirect_uri, challenge,
          audience, offered_scope, asked_scope, held_scope, sponsor_key, sponsor, began_at, came_at, expires_at, state,
          answered_at, code_hash, code_expires_at, chosen_scope, task_ends_at, task_id)
        select 'areq_01JDCK0000000000000000TEST', 'b', agent_id, 'public', 'http://127.0.0.1:43117/callback', 'c',
          audience, scope, scope, scope, sponsor_key, sponsor, created_at, created_at, expires_at, 'spent',
          created_at, 'h', created_at, scope, expires_at, task_id from tasks where task_id = '${started}'`);
      await outside.sql(`update task_grants set rotation_hash = 'r' where task_id = '${started}'`);
      await outside.close();
      const authorization = {
        request_id: 'areq_01JDCK0000000000000000TEST',
        client: 'public',
        redirect_uri: 'http://127.0.0.1:43117/callback',
        proves_name: false,
      };
      const shownBy = async (at: typeof mandate) => {
        const token = agent.subjectToken({ sub: 'ada', aud: ME });
        const { body } = await at.get('/me/tasks', { authorization: `Bearer ${token}` });
        const mine = new Map((body.tasks as Record<string, unknown>[]).map((task) => [task.task_id, task]));
        const shown = async (task: string) => (await at.admin('GET', `/admin/tasks/${task}`)).body;
        return [mine.get(started), await shown(started), mine.get(exchanged), await shown(exchanged)];
      };
      const [mine, shown, ...others] = await shownBy(mandate);
      for (const task of [mine, shown]) expect(task?.authorization).to.deep.equal(authorization);
      for (const task of others) expect(task).to.have.property('authorization', null);
      const list = await mandate.admin('GET', '/admin/tasks');
      for (const task of list.body.tasks as object[]) expect(task).not.to.have.property('authorization');
      const closed = await mandate.another({ 'Service:Authorize:ClientId': '' });
      for (const task of await shownBy(closed))
        expect(task).to.be.an('object').that.does.not.have.property('authorization');
      await closed.stop();
      await mandate.stop();
    });
  });
}
