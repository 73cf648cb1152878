/** Token revocation (RFC 7009). */

import { expect } from 'chai';
import { decodeJwt } from 'jose';
import { databases } from '../support/databases.ts';
import { type Answer, fieldsOf, JIRA, type Mandate, type RegisteredAgent, startMandate } from '../support/mandate.ts';
import { signingKeySettings } from '../support/shared-signing-key.ts';
import { makeSigningKey, type SigningKey } from '../support/signing-key.ts';

for (const database of databases) {
  describe(`Revocation on ${database.name}`, () => {
    let mandate: Mandate;
    let agent: RegisteredAgent;
    let key: SigningKey;
    before(async () => {
      key = await makeSigningKey('ES256');
      mandate = await startMandate({ database, settings: signingKeySettings(key.privateKey) });
    });
    beforeEach(async () => {
      agent = await mandate.agent();
    });
    after(() => mandate.stop());

    function expectEmpty(answer: Answer): void {
      expect(answer.status, answer.text).to.equal(200);
      expect(answer.text).to.equal('');
      expect(answer.headers.get('cache-control')).to.equal('no-store');
    }

    it('of a grant ends its task', async () => {
      const issued = await agent.exchange();
      const lines = await mandate.recorded(async () => {
        expectEmpty(await agent.revoke(String(issued.body.refresh_token), { token_type_hint: 'refresh_token' }));
      });
      expect(lines).to.have.lengthOf(1);
      expect(lines[0]).to.include({
        event: 'task.revoked',
        reason: 'client_revoked',
        task_id: issued.body.task_id,
        agent_id: agent.id,
        sponsor: 'ada',
        scope: 'jira:read jira:comment',
        delegation_depth: 1,
        jti: null,
      });
    });

    it('of an access token revokes only that token, whatever the token_type_hint', async () => {
      const issued = await agent.exchange();
      const lines = await mandate.recorded(async () => {
        expectEmpty(await agent.revoke(String(issued.body.access_token), { token_type_hint: 'refresh_token' }));
      });
      expect(lines).to.have.lengthOf(1);
      expect(lines[0]).to.include({
        event: 'token.revoked',
        decision: 'allow',
        task_id: issued.body.task_id,
        agent_id: agent.id,
        sponsor: 'ada',
        jti: decodeJwt(String(issued.body.access_token)).jti,
        delegation_depth: 1,
      });
      expect((await agent.refresh(String(issued.body.refresh_token))).status).to.equal(200);
    });

    it('takes an assertion for the revocation endpoint, which the token endpoint refuses and records', async () => {
      const issued = await agent.exchange();
      const grant = String(issued.body.refresh_token);
      const here = () => agent.assertion({ aud: `${mandate.issuer}/oauth2/revoke` });
      for (const [about, send] of [
        [{ audience: JIRA, scope: null }, () => agent.refresh(grant, { client_assertion: here() })],
        [{ audience: JIRA, scope: 'jira:read' }, () => agent.exchange({ actor_token: here(), scope: 'jira:read' })],
      ] as const) {
        const refused = await mandate.recorded(async () => {
          const answer = await send();
          expect([answer.status, answer.body.error]).to.deep.equal([401, 'invalid_client']);
        });
        expect(refused).to.have.lengthOf(1);
        const denial = { event: 'token.denied', decision: 'deny', reason: 'actor_wrong_audience' };
        expect(refused[0]).to.include({ ...denial, agent_id: agent.id, ...about });
      }
      const lists = [here(), agent.assertion({ aud: [`${mandate.issuer}/oauth2/revoke`] })];
      for (const [nth, client_assertion] of lists.entries()) {
        const token = nth === 0 ? String(issued.body.access_token) : grant;
        const lines = await mandate.recorded(async () => expectEmpty(await agent.revoke(token, { client_assertion })));
        expect(fieldsOf(lines, 'event', 'agent_id')).to.deep.equal([
          [nth === 0 ? 'token.revoked' : 'task.revoked', agent.id],
        ]);
      }
      const elsewhere = await mandate.recorded(async () => {
        const aud = `${mandate.issuer}/oauth2/introspect`;
        expect((await agent.revoke(grant, { client_assertion: agent.assertion({ aud }) })).status).to.equal(401);
      });
      expect(fieldsOf(elsewhere, 'reason', 'agent_id')).to.deep.equal([['actor_wrong_audience', agent.id]]);
    });

    it('is recorded once if the request is repeated', async () => {
      const issued = await agent.exchange();
      for (const token of [issued.body.access_token, issued.body.refresh_token]) {
        expectEmpty(await agent.revoke(String(token)));
        const lines = await mandate.recorded(async () => expectEmpty(await agent.revoke(String(token))));
        expect(lines).to.deep.equal([]);
      }
    });

    it("of another agent's token or an unknown token answers 200, changes nothing and records a denial", async () => {
      const other = await mandate.agent();
      const issued = await other.exchange();
      const foreign = [issued.body.access_token, issued.body.refresh_token, 'nonsense', 'task_grant_nonsense', 'a.b.c'];
      for (const token of foreign) {
        const lines = await mandate.recorded(async () => expectEmpty(await agent.revoke(String(token))));
        expect(lines).to.have.lengthOf(1);
        expect(lines[0]).to.include({
          event: 'token.denied',
          decision: 'deny',
          reason: 'revocation_not_owner',
          agent_id: agent.id,
          task_id: null,
          jti: null,
        });
      }
      expect((await other.refresh(String(issued.body.refresh_token))).status).to.equal(200);
    });

    it('is open to a disabled agent', async () => {
      const issued = await agent.exchange();
      await mandate.admin('PATCH', `/admin/agents/${agent.id}`, { enabled: false });
      expectEmpty(await agent.revoke(String(issued.body.refresh_token)));
      expect(await mandate.introspect(issued)).to.include({ revocation_reason: 'client_revoked' });
    });
  });
}
