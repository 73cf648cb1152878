/**
 * A tool server takes the tokens of tasks that a person started like all others: nothing in its library, and nothing in the
 * guard, knows of them.
 */

import { expect } from 'chai';
import { decodeJwt } from 'jose';
import {
  type AccessEvent,
  createToolServer,
  type ToolServer,
} from '../../../adapters/sdk/tool-server/core/tool-server.ts';
import { databases } from '../../support/databases.ts';
import { JIRA, type Mandate, type RegisteredAgent } from '../../support/mandate.ts';
import { startDecidedApp } from '../../support/tool-server/decided-app.ts';
import { frameworks, type GuardedApp } from '../../support/tool-server/guarded-apps.ts';
import { keyAgent, publicAgent, publicRefresh, redeemed, startDoor } from './clients.ts';

const [[database], [framework]] = [databases, frameworks];
if (database === undefined || framework === undefined) throw new Error('there is no database or no framework');

const APPS: Readonly<Record<string, (toolServer: ToolServer) => Promise<GuardedApp>>> = {
  [framework.name]: framework.start,
  'the guard': startDecidedApp,
};
const SCOPES = ['jira:read', 'jira:admin'];

describe('A tool server and a task that its person started', () => {
  let mandate: Mandate;
  let editor: RegisteredAgent;
  before(async () => {
    mandate = await startDoor(database, { issuer: 'own-address' });
    editor = await publicAgent(mandate, { allowed_scopes: SCOPES });
  });
  after(() => mandate.stop());

  const begin = async () => (await redeemed(mandate, editor, { offered: SCOPES, held: SCOPES })).body;

  for (const [name, start] of Object.entries(APPS)) {
    it(`accepts its tokens in ${name}, names person, agent and task, and after a stop refuses where it asks the service`, async () => {
      const events: AccessEvent[] = [];
      const now = () => mandate.clock.now() / 1000;
      const onAccess = (event: AccessEvent) => void events.push(event);
      const jira = await start(createToolServer({ issuer: mandate.issuer, audience: JIRA, now, onAccess }));
      const call = async (token: unknown, method: 'GET' | 'DELETE' = 'GET') => {
        const headers = { authorization: `Bearer ${String(token)}` };
        const answer = await fetch(`${jira.url}/issues/OPS-7`, { method, headers });
        return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
      };
      try {
        const first = await begin();
        const { body: next } = await publicRefresh(mandate, editor, first.refresh_token);
        for (const { access_token: token } of [first, next]) {
          expect(await call(token)).to.deep.equal({
            status: 200,
            body: { sub: 'ada', agent: `agent:${editor.id}`, scope: SCOPES, task: first.task_id },
          });
        }
        expect((await call(next.access_token, 'DELETE')).status).to.equal(200);
        await mandate.admin('DELETE', `/admin/tasks/${first.task_id}`);
        const stopped = await call(next.access_token, 'DELETE');
        expect(stopped.status, JSON.stringify(stopped.body)).to.equal(401);
        expect(stopped.body).to.include({ reason: 'not_active' });
        expect(stopped.body.error_description).to.match(/Reason: operator_kill_switch\.$/);

        const { jti } = decodeJwt(String(next.access_token));
        const about = { event: 'tool.access', sub: 'ada', act: `agent:${editor.id}`, depth: 1, task_id: first.task_id };
        expect(events.map(({ decision, reason }) => [decision, reason])).to.deep.equal([
          ['allow', null],
          ['allow', null],
          ['allow', null],
          ['deny', 'not_active'],
        ]);
        for (const event of events) expect(event).to.include(about);
        for (const event of events.slice(1)) expect(event).to.include({ jti });
      } finally {
        await jira.stop();
      }
    });
  }

  it('sees the same claims as in a token of an exchange', async () => {
    const robot = await keyAgent(mandate);
    const claimsOf = (body: Readonly<Record<string, unknown>>) => decodeJwt(String(body.access_token));
    const shapeOf = (claims: object): unknown =>
      Object.entries(claims).map(([name, value]) => [
        name,
        typeof value === 'object' && value !== null && !Array.isArray(value) ? shapeOf(value) : typeof value,
      ]);
    const [started, exchanged] = [claimsOf(await begin()), claimsOf((await robot.exchange()).body)];
    expect(shapeOf(started)).to.deep.equal(shapeOf(exchanged));
  });
});
