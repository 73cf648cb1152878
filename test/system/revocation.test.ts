/** Revocation: an agent gives back what it holds; nobody learns anything about what it does not. */

import { expect } from 'chai';
import { decodeJwt } from 'jose';
import { databases } from '../support/databases.ts';
import { type Answer, type Mandate, type RegisteredAgent, startMandate } from '../support/mandate.ts';
import { signingKeySettings } from '../support/shared-signing-key.ts';
import { makeSigningKey, type SigningKey } from '../support/signing-key.ts';

for (const database of databases) {
  describe(`revocation on ${database.name}`, () => {
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

    it('ends the task of a grant', async () => {
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

    it('revokes a single token by its jti, whatever the hint', async () => {
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

    it('is one revocation however often it is asked for', async () => {
      const issued = await agent.exchange();
      for (const token of [issued.body.access_token, issued.body.refresh_token]) {
        expectEmpty(await agent.revoke(String(token)));
        const lines = await mandate.recorded(async () => expectEmpty(await agent.revoke(String(token))));
        expect(lines).to.deep.equal([]);
      }
    });

    /** A task token of this suite's agents lives four minutes; other clocks may be one minute behind. */
    const [TOKEN_SECONDS, SKEW_SECONDS] = [240, 60];

    it('is one revocation also of a token that expired meanwhile, when its revocation has been forgotten', async () => {
      const behind = await mandate.another({});
      behind.clock.advance(mandate.clock.seconds() - behind.clock.seconds() - SKEW_SECONDS + 1);
      const token = String((await agent.exchange()).body.access_token);
      expectEmpty(await agent.revoke(token));
      for (const seconds of [TOKEN_SECONDS, SKEW_SECONDS, SKEW_SECONDS, SKEW_SECONDS]) {
        for (const instance of [mandate, behind]) instance.clock.advance(seconds);
        await mandate.jobs.sweep();
        for (const instance of [mandate, behind]) {
          const again = () => instance.post('/oauth2/revoke', agent.revokeForm(token));
          const lines = await mandate.recorded(async () => expectEmpty(await again()));
          expect(lines, `${seconds} seconds on`).to.deep.equal([]);
        }
      }
      await behind.stop();
    });

    it('takes nothing away, and records nothing, of a token that has expired by every clock; its assertion is spent', async () => {
      const token = String((await agent.exchange()).body.access_token);
      mandate.clock.advance(TOKEN_SECONDS + SKEW_SECONDS);
      const form = agent.revokeForm(token);
      const lines = await mandate.recorded(async () => expectEmpty(await mandate.post('/oauth2/revoke', form)));
      expect(lines).to.deep.equal([]);
      const replays = await mandate.recorded(async () => {
        const replay = await mandate.post('/oauth2/revoke', form);
        expect([replay.status, replay.body.error]).to.deep.equal([401, 'invalid_client']);
      });
      expect(replays.map(({ event, reason, agent_id }) => [event, reason, agent_id])).to.deep.equal([
        ['token.denied', 'actor_replayed', agent.id],
      ]);
    });

    it('revokes a token that has only just expired: a clock that is behind would still take it', async () => {
      const token = String((await agent.exchange()).body.access_token);
      mandate.clock.advance(TOKEN_SECONDS + SKEW_SECONDS / 2);
      const lines = await mandate.recorded(async () => expectEmpty(await agent.revoke(token)));
      expect(lines.map(({ event }) => event)).to.deep.equal(['token.revoked']);
    });

    it("answers the same for another's token and for none at all, changes nothing, and records the attempt", async () => {
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

    it('takes what our own key signed with another typ or iss for nothing of the agent’s, whatever it claims', async () => {
      const issued = await agent.exchange();
      const claims = decodeJwt(String(issued.body.access_token));
      const ours = { alg: 'ES256', kid: key.kid, typ: 'at+jwt' };
      const tokens = [
        ...['JWT', 'checkpoint+jwt', undefined].map((typ) => key.sign({ ...ours, typ }, claims)),
        ...[`${mandate.issuer}/`, agent.id, undefined].map((iss) => key.sign(ours, { ...claims, iss })),
      ];
      for (const token of tokens) {
        const lines = await mandate.recorded(async () => expectEmpty(await agent.revoke(token)));
        expect(lines.map((line) => [line.event, line.reason, line.agent_id, line.jti])).to.deep.equal([
          ['token.denied', 'revocation_not_owner', agent.id, null],
        ]);
      }
      const introspected = () => mandate.post('/oauth2/introspect', { token: String(issued.body.access_token) });
      expect((await introspected()).body.active, 'the token they repeat is untouched').to.equal(true);
      expectEmpty(await agent.revoke(key.sign(ours, claims)));
      expect((await introspected()).body.active, 'typ and iss make the difference').to.equal(false);
    });

    it('lets a disabled agent take its own access away', async () => {
      const issued = await agent.exchange();
      await mandate.admin('PATCH', `/admin/agents/${agent.id}`, { enabled: false });
      expectEmpty(await agent.revoke(String(issued.body.refresh_token)));
      const { body } = await mandate.post('/oauth2/introspect', { token: String(issued.body.access_token) });
      expect(body).to.include({ revocation_reason: 'client_revoked' });
    });

    it('uses up its assertion, also when there was nothing to revoke', async () => {
      for (const token of ['nonsense', 'task_grant_nonsense', String((await agent.exchange()).body.access_token)]) {
        const form = agent.revokeForm(token);
        expectEmpty(await mandate.post('/oauth2/revoke', form));
        const replay = await mandate.post('/oauth2/revoke', form);
        expect(replay.status, token).to.equal(401);
      }
    });
  });
}
