/** A tool server takes the tokens of tasks that a person started like all others: nothing in its library knows of them. */

import { expect } from 'chai';
import { createToolServer } from '../../../adapters/sdk/tool-server/core/tool-server.ts';
import { databases } from '../../support/databases.ts';
import { JIRA, type Mandate } from '../../support/mandate.ts';
import { frameworks, type GuardedApp } from '../../support/tool-server/guarded-apps.ts';
import { publicAgent, publicRefresh, redeemed, startDoor } from './clients.ts';

const [[database], [framework]] = [databases, frameworks];
if (database === undefined || framework === undefined) throw new Error('there is no database or no framework');

describe('A tool server and a task that its person started', () => {
  let mandate: Mandate;
  let jira: GuardedApp;
  before(async () => {
    mandate = await startDoor(database, { issuer: 'own-address' });
    const now = () => mandate.clock.now() / 1000;
    jira = await framework.start(
      createToolServer({ issuer: mandate.issuer, audience: JIRA, now, onAccess: () => undefined }),
    );
  });
  after(async () => {
    await jira.stop();
    await mandate.stop();
  });

  async function call(token: unknown, method: 'GET' | 'DELETE' = 'GET') {
    const headers = { authorization: `Bearer ${String(token)}` };
    const answer = await fetch(`${jira.url}/issues/OPS-7`, { method, headers });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  }

  it('accepts its tokens, and after a stop refuses where it asks the service', async () => {
    const editor = await publicAgent(mandate, { allowed_scopes: ['jira:read', 'jira:admin'] });
    const terms = { offered: ['jira:read', 'jira:admin'], held: ['jira:read', 'jira:admin'] };
    const { body: first } = await redeemed(mandate, editor, terms);
    const { body: next } = await publicRefresh(mandate, editor, first.refresh_token);
    for (const { access_token: token } of [first, next]) {
      const answer = await call(token);
      expect([answer.status, answer.body.sub, answer.body.agent, answer.body.task]).to.deep.equal([
        200,
        'ada',
        `agent:${editor.id}`,
        first.task_id,
      ]);
    }
    await mandate.admin('DELETE', `/admin/tasks/${first.task_id}`);
    const stopped = await call(next.access_token, 'DELETE');
    expect(stopped.status, JSON.stringify(stopped.body)).to.equal(401);
  });
});
