/** Token revocation (RFC 7009). */

import { expect } from 'chai';
import { decodeJwt } from 'jose';
import { databases } from '../support/databases.ts';
import {
  type Answer,
  fieldsOf,
  JIRA,
  type Mandate,
  type RegisteredAgent,
  startMandate,
  withService,
} from '../support/mandate.ts';
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

    /** The lifetime of a task token in this test, and the accepted clock skew. */
    const [TOKEN_SECONDS, SKEW_SECONDS] = [240, 60];

    it('is recorded once for an expired token, even if the first revocation has been deleted', async () => {
      await withService(mandate.another({}), async (behind) => {
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
      });
    });

    it('of a token that has expired by every clock is not recorded, and marks the assertion as used', async () => {
      const token = String((await agent.exchange()).body.access_token);
      mandate.clock.advance(TOKEN_SECONDS + SKEW_SECONDS);
      const form = agent.revokeForm(token);
      const lines = await mandate.recorded(async () => expectEmpty(await mandate.post('/oauth2/revoke', form)));
      expect(lines).to.deep.equal([]);
      const replays = await mandate.recorded(async () => {
        const replay = await mandate.post('/oauth2/revoke', form);
        expect([replay.status, replay.body.error]).to.deep.equal([401, 'invalid_client']);
      });
      expect(fieldsOf(replays, 'event', 'reason', 'agent_id')).to.deep.equal([
        ['token.denied', 'actor_replayed', agent.id],
      ]);
    });

    it('of a token that has just expired is recorded, because a replica with a slow clock would still accept it', async () => {
      const token = String((await agent.exchange()).body.access_token);
      mandate.clock.advance(TOKEN_SECONDS + SKEW_SECONDS / 2);
      const lines = await mandate.recorded(async () => expectEmpty(await agent.revoke(token)));
      expect(lines.map(({ event }) => event)).to.deep.equal(['token.revoked']);
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

    it("of a token that the service's key signed with another typ or iss is a denial", async () => {
      const issued = await agent.exchange();
      const claims = decodeJwt(String(issued.body.access_token));
      const ours = { alg: 'ES256', kid: key.kid, typ: 'at+jwt' };
      const tokens = [
        ...['JWT', 'checkpoint+jwt', undefined].map((typ) => key.sign({ ...ours, typ }, claims)),
        ...[`${mandate.issuer}/`, agent.id, undefined].map((iss) => key.sign(ours, { ...claims, iss })),
      ];
      for (const token of tokens) {
        const lines = await mandate.recorded(async () => expectEmpty(await agent.revoke(token)));
        expect(fieldsOf(lines, 'event', 'reason', 'agent_id', 'jti')).to.deep.equal([
          ['token.denied', 'revocation_not_owner', agent.id, null],
        ]);
      }
      const introspected = () => mandate.introspect(issued);
      expect((await introspected()).active, 'the token they repeat is untouched').to.equal(true);
      expectEmpty(await agent.revoke(key.sign(ours, claims)));
      expect((await introspected()).active, 'typ and iss make the difference').to.equal(false);
    });

    it('is open to a disabled agent', async () => {
      const issued = await agent.exchange();
      await mandate.admin('PATCH', `/admin/agents/${agent.id}`, { enabled: false });
      expectEmpty(await agent.revoke(String(issued.body.refresh_token)));
      expect(await mandate.introspect(issued)).to.include({ revocation_reason: 'client_revoked' });
    });

    it('marks the assertion as used even if the token does not exist', async () => {
      for (const token of ['nonsense', 'task_grant_nonsense', String((await agent.exchange()).body.access_token)]) {
        const form = agent.revokeForm(token);
        expectEmpty(await mandate.post('/oauth2/revoke', form));
        const replay = await mandate.post('/oauth2/revoke', form);
        expect(replay.status, token).to.equal(401);
      }
    });
  });
}
