/** Token introspection (RFC 7662). */

import { expect } from 'chai';
import { decodeJwt } from 'jose';
import { databasesByLength } from '../support/databases.ts';
import { type Answer, type Mandate, type RegisteredAgent, startMandate } from '../support/mandate.ts';
import { signingKeySettings } from '../support/shared-signing-key.ts';
import { makeSigningKey, type SigningKey } from '../support/signing-key.ts';

for (const database of databasesByLength) {
  describe(`Introspection on ${database.name}`, () => {
    let mandate: Mandate;
    let agent: RegisteredAgent;
    let key: SigningKey;
    const introspect = (token: unknown): Promise<Answer> =>
      mandate.post('/oauth2/introspect', { token: String(token) });
    before(async () => {
      key = await makeSigningKey('ES256');
      mandate = await startMandate({ database, settings: signingKeySettings(key.privateKey) });
    });
    beforeEach(async () => {
      agent = await mandate.agent();
    });
    after(() => mandate.stop());

    it('answers the claims and task_id of an active token to an unauthenticated client', async () => {
      const issued = await agent.exchange();
      const answer = await introspect(issued.body.access_token);
      expect(answer.status).to.equal(200);
      expect(answer.headers.get('cache-control')).to.equal('no-store');
      expect(answer.body).to.deep.equal({
        active: true,
        ...decodeJwt(String(issued.body.access_token)),
        task_id: issued.body.task_id,
      });
    });

    it('ignores token_type_hint', async () => {
      const issued = await agent.exchange();
      const token = String(issued.body.access_token);
      const answer = await mandate.post('/oauth2/introspect', { token, token_type_hint: 'nonsense' });
      expect(answer.body.active).to.equal(true);
    });

    it('answers only active: false for anything that is not a valid task token', async () => {
      const issued = await agent.exchange();
      const [header, payload, signature] = String(issued.body.access_token).split('.');
      const flipped = `${signature?.slice(0, 9)}${signature?.[9] === 'A' ? 'B' : 'A'}${signature?.slice(10)}`;
      const subject = mandate.provider.mintAccessToken();
      for (const token of ['x', 'a.b.c', `${header}.${payload}.${flipped}`, subject, issued.body.refresh_token]) {
        expect((await introspect(token)).body).to.deep.equal({ active: false });
      }
    });

    it("answers the time and reason of the task's revocation", async () => {
      const issued = await agent.exchange();
      await agent.revoke(String(issued.body.refresh_token));
      const { body } = await introspect(issued.body.access_token);
      expect(body).to.have.all.keys('active', 'revoked_at', 'revocation_reason');
      expect(body).to.include({ active: false, revocation_reason: 'client_revoked' });
      expect(String(body.revoked_at)).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z$/);
    });

    it('answers the revocation of one token, and keeps the other tokens of its task active', async () => {
      const issued = await agent.exchange();
      const renewed = await agent.refresh(String(issued.body.refresh_token));
      await agent.revoke(String(issued.body.access_token));
      expect((await introspect(issued.body.access_token)).body).to.include({
        active: false,
        revocation_reason: 'client_revoked',
      });
      expect((await introspect(renewed.body.access_token)).body.active).to.equal(true);
    });

    it('answers agent_disabled while the agent is disabled, and active: true after it is enabled again', async () => {
      const issued = await agent.exchange();
      await mandate.admin('PATCH', `/admin/agents/${agent.id}`, { enabled: false });
      expect((await introspect(issued.body.access_token)).body).to.deep.equal({
        active: false,
        revocation_reason: 'agent_disabled',
      });
      await mandate.admin('PATCH', `/admin/agents/${agent.id}`, { enabled: true });
      expect((await introspect(issued.body.access_token)).body.active).to.equal(true);
    });

    it('writes no record', async () => {
      const issued = await agent.exchange();
      const lines = await mandate.recorded(async () => {
        await introspect(issued.body.access_token);
        await introspect('x');
      });
      expect(lines).to.deep.equal([]);
    });
  });
}
