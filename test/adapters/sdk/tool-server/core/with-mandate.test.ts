/** The tool server with tokens of the real service, before and after their tasks end. */

import { expect } from 'chai';
import { type AccessEvent, createToolServer } from '../../../../../adapters/sdk/tool-server/core/tool-server.ts';
import { databases } from '../../../../support/databases.ts';
import {
  JIRA,
  type Mandate,
  type RegisteredAgent,
  startMandate,
  WIKI,
  withService,
} from '../../../../support/mandate.ts';
import { sharedSigningKey } from '../../../../support/shared-signing-key.ts';
import { frameworks, type GuardedApp } from '../../../../support/tool-server/guarded-apps.ts';

const [database] = databases;
if (database === undefined) throw new Error('there is no database');

for (const framework of frameworks) {
  describe(`A tool server on ${framework.name} with the real service`, () => {
    let mandate: Mandate;
    let agent: RegisteredAgent;
    let jira: GuardedApp;
    let wiki: GuardedApp;
    let events: AccessEvent[];

    before(async () => {
      mandate = await startMandate({ database, issuer: 'own-address' });
      const start = (audience: string) => {
        const now = () => mandate.clock.now() / 1000;
        const onAccess = (event: AccessEvent) => void events.push(event);
        return framework.start(createToolServer({ issuer: mandate.issuer, audience, now, onAccess }));
      };
      [jira, wiki] = await Promise.all([start(JIRA), start(WIKI)]);
    });
    beforeEach(async () => {
      events = [];
      agent = await mandate.agent();
    });
    after(async () => {
      await Promise.all([jira.stop(), wiki.stop()]);
      await mandate.stop();
    });

    async function issued(changes: Readonly<Record<string, string>> = {}) {
      const { body } = await agent.exchange({ scope: 'jira:read', ...changes });
      return { token: String(body.access_token), grant: String(body.refresh_token), taskId: String(body.task_id) };
    }
    async function call(app: GuardedApp, token: string, method: 'GET' | 'DELETE' = 'GET') {
      const answer = await fetch(`${app.url}/issues/OPS-7`, { method, headers: { authorization: `Bearer ${token}` } });
      const body = (await answer.json()) as Record<string, unknown>;
      return { status: answer.status, body, reason: body.reason };
    }

    it('accepts a task token, and passes its claims to the handler', async () => {
      const { token, taskId } = await issued({ actor_token: agent.assertion({ instance: 'pod-7' }) });
      const answer = await call(jira, token);
      expect(answer).to.deep.include({ status: 200 });
      expect(answer.body).to.deep.equal({
        sub: 'ada',
        agent: `agent:${agent.id}`,
        scope: ['jira:read'],
        task: taskId,
      });
      const ledger = (await mandate.ledger()).find((line) => line.task_id === taskId);
      expect(events).to.deep.equal([
        {
          event: 'tool.access',
          at: events[0]?.at,
          route: 'GET /issues/:key',
          decision: 'allow',
          reason: null,
          sub: 'ada',
          act: `agent:${agent.id}`,
          depth: 1,
          task_id: taskId,
          jti: ledger?.jti,
          instance: 'pod-7',
        },
      ]);
    });

    it('refuses a task token of another audience, without the scope and after its expiry', async () => {
      const { token } = await issued();
      expect(await call(wiki, token)).to.include({ status: 401, reason: 'wrong_audience' });
      const { token: other } = await issued({ scope: 'jira:comment' });
      expect(await call(jira, other)).to.include({ status: 403, reason: 'insufficient_scope' });
      mandate.clock.advance(240 + 60);
      expect(await call(jira, token)).to.include({ status: 401, reason: 'expired' });
    });

    it('refuses the token of the person and the assertion of the agent', async () => {
      const { subject_token: subject = '', actor_token: actor = '' } = agent.exchangeForm();
      for (const token of [subject, actor]) {
        expect((await call(jira, token)).status).to.equal(401);
      }
      expect(events.map((event) => event.sub)).to.deep.equal([null, null]);
    });

    it('refuses a revoked token at once on a high-risk route, and on other routes after its expiry', async () => {
      const { token } = await issued();
      expect((await call(jira, token, 'DELETE')).status).to.equal(200);
      await agent.revoke(token);
      expect((await call(jira, token)).status).to.equal(200);
      const refused = await call(jira, token, 'DELETE');
      expect(refused).to.include({ status: 401, reason: 'not_active' });
      expect(refused.body.error_description).to.match(/Reason: client_revoked\.$/);
    });

    it('introspects every token of a high-risk audience', async () => {
      const { token, taskId } = await issued({ resource: WIKI });
      expect((await call(wiki, token)).status).to.equal(200);
      await mandate.admin('DELETE', `/admin/tasks/${taskId}`);
      const refused = await call(wiki, token);
      expect(refused).to.include({ status: 401, reason: 'not_active' });
      expect(refused.body.error_description).to.match(/Reason: operator_kill_switch\.$/);
    });

    it('refuses a disabled agent and a blocked person on a high-risk route', async () => {
      const { token } = await issued();
      await mandate.admin('PATCH', `/admin/agents/${agent.id}`, { enabled: false });
      const disabled = await call(jira, token, 'DELETE');
      expect(disabled.body.error_description).to.match(/Reason: agent_disabled\.$/);
      agent = await mandate.agent();
      const { token: second } = await issued();
      expect((await mandate.admin('PUT', '/admin/sponsors/ada/block')).status).to.equal(200);
      const blocked = await call(jira, second, 'DELETE');
      expect(blocked.body.error_description).to.match(/Reason: sponsor_blocked\.$/);
      expect((await mandate.admin('DELETE', '/admin/sponsors/ada/block')).status).to.be.within(200, 204);
    });
  });
}

describe('A tool server with the real service', () => {
  const pem = () => sharedSigningKey()['Service:Signing:Keys:0:Pem'] ?? '';
  let mandate: Mandate;
  before(async () => {
    const settings = {
      'Service:Signing:Keys:0:Pem': pem(),
      'Service:Signing:Keys:0:Kid': 'spring',
      'Service:Signing:Keys:1:Pem': pem(),
      'Service:Signing:Keys:1:Kid': 'summer',
      'Service:Signing:ActiveKid': 'spring',
    };
    mandate = await startMandate({ database, issuer: 'own-address', settings });
  });
  after(() => mandate.stop());

  function jiraServer() {
    const now = () => mandate.clock.now() / 1000;
    return createToolServer({ issuer: mandate.issuer, audience: JIRA, now, onAccess: () => undefined });
  }
  const tokenOf = async (service: Mandate) => String((await (await service.agent()).exchange()).body.access_token);

  it('accepts tokens of both keys after a rotation of the signing key', async () => {
    const { authorize, policy } = jiraServer();
    const read = policy({ scope: ['jira:read'], highRisk: true });
    const spring = await tokenOf(mandate);
    expect((await authorize({ token: spring, route: 'x', policy: read })).kind).to.equal('allowed');
    await withService(mandate.another({ 'Service:Signing:ActiveKid': 'summer' }), async (changed) => {
      const summer = await tokenOf(changed);
      expect(Buffer.from(summer.split('.')[0] ?? '', 'base64url').toString()).to.include('"summer"');
      for (const token of [summer, spring]) {
        expect((await authorize({ token, route: 'x', policy: read })).kind).to.equal('allowed');
      }
    });
  });

  it('uses its cached keys while the service is down, and answers 503 where it introspects', async () => {
    const { authorize, policy } = jiraServer();
    const token = await tokenOf(mandate);
    const read = policy({ scope: ['jira:read'] });
    const risky = policy({ scope: ['jira:read'], highRisk: true });
    expect((await authorize({ token, route: 'x', policy: risky })).kind).to.equal('allowed');
    await mandate.stop();
    expect((await authorize({ token, route: 'x', policy: read })).kind).to.equal('allowed');
    expect(await authorize({ token, route: 'x', policy: risky })).to.include({
      kind: 'refused',
      status: 503,
      reason: 'introspection_unavailable',
    });
  });
});
