/** Hand-overs of tasks that a person started at `/oauth2/authorize`. */

import { expect } from 'chai';
import { decodeJwt } from 'jose';
import { makeAgentKey } from '../../support/agents/agent-key.ts';
import { REDIRECT } from '../../support/authorize/allowed-request.ts';
import { databasesByLength } from '../../support/databases.ts';
import { delegationAt, heldTask } from '../../support/delegation.ts';
import { fieldsOf, type Mandate, type RegisteredAgent } from '../../support/mandate.ts';
import { keyAgent, keyOf, publicAgent, redeemed, startDoor } from './clients.ts';

const DEEP = { max_delegation_depth: 2 };

for (const database of databasesByLength) {
  describe(`Hand-overs of a person’s own task on ${database.name}`, function () {
    this.timeout(60_000);
    let mandate: Mandate;
    let at: ReturnType<typeof delegationAt>;
    let child: RegisteredAgent;
    before(async () => {
      mandate = await startDoor(database, { settings: { 'Service:Delegation:Enabled': 'true' } });
      at = delegationAt(mandate);
      child = await mandate.agent(DEEP);
    });
    after(() => mandate.stop());

    it('begin a task below that the client’s key offers, which ends with it', async () => {
      const robot = await keyAgent(mandate, { ...DEEP, delegates_to: [child.id] });
      const task = heldTask(await redeemed(mandate, robot, {}, keyOf(robot)));
      const below = await at.handOver(robot, child, task, { scope: 'jira:read' });
      expect(decodeJwt(below.token).act).to.deep.equal({
        sub: `agent:${child.id}`,
        depth: 2,
        act: { sub: `agent:${robot.id}`, depth: 1 },
      });
      await mandate.admin('DELETE', `/admin/tasks/${task.taskId}`);
      expect(await mandate.introspect(below.token)).to.include({ revocation_reason: 'parent_revoked' });
    });

    it('are refused with access_denied while the task goes on, and with invalid_grant after its end', async () => {
      const robot = await keyAgent(mandate, { ...DEEP, delegates_to: [child.id] });
      const task = heldTask(await redeemed(mandate, robot, {}, keyOf(robot)));
      const refused = async (error: string, reason: string, to: string) => {
        const lines = await mandate.recorded(async () => {
          const { body } = await at.ask(robot, to, task.grant, { scope: 'jira:read' });
          expect(body).to.include({ error, reason });
        });
        expect(fieldsOf(lines, 'event', 'reason')).to.deep.equal([['token.denied', reason]]);
      };
      await refused('access_denied', 'delegation_not_allowed', robot.id);
      await mandate.admin('PATCH', `/admin/agents/${child.id}`, { max_delegation_depth: 1 });
      await refused('access_denied', 'delegation_depth_exceeded', child.id);
      await mandate.admin('PATCH', `/admin/agents/${child.id}`, DEEP);
      // Clients of people ask the person again after this error alone.
      await mandate.admin('DELETE', `/admin/tasks/${task.taskId}`);
      await refused('invalid_grant', 'task_revoked', child.id);
    });

    it('take the keys of a client’s document, and none of its registration', async () => {
      const key = await makeAgentKey();
      const document = {};
      const uri = await mandate.keyServer.serve(document);
      const says = { token_endpoint_auth_method: 'private_key_jwt', jwks: key.jwks };
      Object.assign(document, { client_id: uri, redirect_uris: [REDIRECT], ...says });
      const changes = { ...DEEP, delegates_to: [child.id], client_id_document: uri };
      const described = await keyAgent(mandate, changes);
      const assertion = (name = uri) => {
        const now = mandate.clock.seconds();
        return key.signAssertion(name, { aud: mandate.issuer, iat: now, exp: now + 60 });
      };
      const proof = { ...keyOf(described), client_assertion: assertion() };
      const task = heldTask(await redeemed(mandate, described, {}, proof));
      const lines = await mandate.recorded(async () => {
        const { status } = await at.ask(described, child.id, task.grant, { scope: 'jira:read' });
        expect(status).to.equal(401);
      });
      expect(fieldsOf(lines, 'event', 'reason')).to.deep.equal([['token.denied', 'actor_unknown_key']]);
      for (const actor_token of [assertion(), assertion(described.id)]) {
        const offer = await at.offer(described, child, task.grant, { scope: 'jira:read', actor_token });
        expect((await at.take(child, offer, { scope: 'jira:read' })).status).to.equal(200);
      }
    });

    it('need a key: a client_id alone offers nothing', async () => {
      const open = await publicAgent(mandate, { ...DEEP, delegates_to: [child.id] });
      const task = heldTask(await redeemed(mandate, open));
      for (const [changes, reason] of [
        [{ actor_token: undefined, actor_token_type: undefined, client_id: open.id }, 'actor_malformed'],
        [{}, 'actor_no_registered_keys'],
      ] as const) {
        const lines = await mandate.recorded(async () => {
          const { status, body } = await at.ask(open, child.id, task.grant, { scope: 'jira:read', ...changes });
          expect([status, body.error]).to.deep.equal([401, 'invalid_client']);
        });
        expect(fieldsOf(lines, 'event', 'reason')).to.deep.equal([['token.denied', reason]]);
      }
    });
  });
}
