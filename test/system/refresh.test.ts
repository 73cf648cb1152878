/** Refresh: a task goes on, and never gains anything. */

import { expect } from 'chai';
import { decodeJwt } from 'jose';
import { databases } from '../support/databases.ts';
import { JIRA, type Mandate, type RegisteredAgent, startMandate } from '../support/mandate.ts';

for (const database of databases) {
  describe(`refresh on ${database.name}`, () => {
    let mandate: Mandate;
    let agent: RegisteredAgent;
    before(async () => {
      mandate = await startMandate({ database });
    });
    beforeEach(async () => {
      agent = await mandate.agent();
    });
    after(() => mandate.stop());

    it('gives a fresh token with a new jti within the same task, and the same grant', async () => {
      const first = await agent.exchange();
      const answer = await agent.refresh(String(first.body.refresh_token));
      expect(answer.status, answer.text).to.equal(200);
      expect(answer.body).to.include({
        task_id: first.body.task_id,
        refresh_token: first.body.refresh_token,
        task_expires_at: first.body.task_expires_at,
        scope: 'jira:read jira:comment',
        token_type: 'Bearer',
      });
      const before = decodeJwt(String(first.body.access_token));
      const after = decodeJwt(String(answer.body.access_token));
      expect(after.jti).not.to.equal(before.jti);
      expect(after).to.deep.include({ sub: 'ada', aud: JIRA, task: before.task, scope: before.scope });
    });

    it('writes the first renewal and counts the others', async () => {
      const first = await agent.exchange();
      const grant = String(first.body.refresh_token);
      const lines = await mandate.recorded(async () => {
        for (let time = 0; time < 4; time += 1) expect((await agent.refresh(grant)).status).to.equal(200);
        expect((await agent.revoke(grant)).status).to.equal(200);
      });
      const about = { task_id: first.body.task_id, agent_id: agent.id, sponsor: 'ada', audience: JIRA };
      expect(lines.map((line) => line.event)).to.deep.equal(['token.refreshed', 'token.refreshed', 'task.revoked']);
      expect(lines[0])
        .to.include({ ...about, decision: 'allow', reason: null })
        .and.not.have.property('count');
      expect(lines[1]).to.include({ ...about, decision: 'allow', jti: null, count: 3 });
      expect(lines[2]).to.include({ ...about, decision: 'allow', jti: null, reason: 'client_revoked' });
    });

    it('writes no summary for a single renewal', async () => {
      const grant = String((await agent.exchange()).body.refresh_token);
      const lines = await mandate.recorded(async () => {
        await agent.refresh(grant);
        await agent.revoke(grant);
      });
      expect(lines.map((line) => line.event)).to.deep.equal(['token.refreshed', 'task.revoked']);
    });

    it('keeps a narrowing: what was given up is not held any more', async () => {
      const grant = String((await agent.exchange()).body.refresh_token);
      expect((await agent.refresh(grant, { scope: 'jira:comment' })).body.scope).to.equal('jira:comment');
      expect((await agent.refresh(grant)).body.scope).to.equal('jira:comment');
    });

    it('never gives what the registration has lost since', async () => {
      const grant = String((await agent.exchange()).body.refresh_token);
      await mandate.admin('PATCH', `/admin/agents/${agent.id}`, { allowed_scopes: ['jira:comment'] });
      expect((await agent.refresh(grant)).body.scope).to.equal('jira:comment');
    });

    it('cuts the last token to what is left of the task', async () => {
      const grant = String((await agent.exchange()).body.refresh_token);
      const other = await mandate.another({});
      other.clock.advance(20 * 60 - 100);
      const form = agent.refreshForm(grant, {
        client_assertion: agent.assertion({ iat: other.clock.seconds(), exp: other.clock.seconds() + 60 }),
      });
      const answer = await other.post('/oauth2/token', form);
      expect(answer.status, answer.text).to.equal(200);
      const claims = decodeJwt(String(answer.body.access_token));
      // By its own lifetime it would have four minutes.
      expect(answer.body.expires_in)
        .to.equal(Number(claims.exp) - Number(claims.iat))
        .and.to.be.below(240);
      expect(claims.exp).to.equal((claims.task as { exp: number }).exp);
      await other.stop();
    });

    it('takes the instance from the assertion of this renewal', async () => {
      const grant = String((await agent.exchange()).body.refresh_token);
      const answer = await agent.refresh(grant, { client_assertion: agent.assertion({ instance: 'pod-8' }) });
      expect(decodeJwt(String(answer.body.access_token)).act).to.deep.include({ instance: 'pod-8' });
    });

    it('counts renewals exactly when many come at once', async () => {
      const grant = String((await agent.exchange()).body.refresh_token);
      const lines = await mandate.recorded(async () => {
        const answers = await Promise.all(Array.from({ length: 25 }, () => agent.refresh(grant)));
        expect(answers.filter((answer) => answer.status === 200)).to.have.lengthOf(25);
        await agent.revoke(grant);
      });
      expect(lines.filter((line) => line.event === 'token.refreshed').map((line) => line.count)).to.deep.equal([
        undefined,
        24,
      ]);
    });
  });
}
