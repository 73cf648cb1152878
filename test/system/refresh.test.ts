/** A refresh issues another token of the same task, never with more authority. */

import { expect } from 'chai';
import { decodeJwt } from 'jose';
import { databases } from '../support/databases.ts';
import { fieldsOf, JIRA, type Mandate, type RegisteredAgent, sharedMandate, withService } from '../support/mandate.ts';

for (const database of databases) {
  describe(`Refresh on ${database.name}`, () => {
    let mandate: Mandate;
    let agent: RegisteredAgent;
    before(async () => {
      mandate = await sharedMandate(database);
    });
    beforeEach(async () => {
      agent = await mandate.agent();
    });

    /** Other tests share this service, and their summaries of anonymous denials may be recorded meanwhile. */
    const recordedOfAgent = async (act: () => Promise<void>) =>
      (await mandate.recorded(act)).filter((line) => line.agent_id === agent.id);

    it('issues a token with a new jti within the same task, and the same grant', async () => {
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

    it('records the first renewal, and counts the later ones in a summary', async () => {
      const first = await agent.exchange();
      const grant = String(first.body.refresh_token);
      const lines = await recordedOfAgent(async () => {
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

    it('records no summary for a single renewal', async () => {
      const grant = await agent.grant();
      const lines = await recordedOfAgent(async () => {
        await agent.refresh(grant);
        await agent.revoke(grant);
      });
      expect(lines.map((line) => line.event)).to.deep.equal(['token.refreshed', 'task.revoked']);
    });

    it('records each renewal with its jti if a setting says so: then a token without a record is forged', async () => {
      for (const [enabled, renewals] of [
        ['true', 'false'],
        ['false', 'true'],
      ] as const) {
        const other = await mandate.another({
          'Service:Audit:Aggregation:Enabled': enabled,
          'Service:Audit:Aggregation:Renewals': renewals,
        });
        try {
          const its = await other.agent();
          const tokens: string[] = [];
          const lines = await other.recorded(async () => {
            const first = await its.exchange();
            const grant = String(first.body.refresh_token);
            const answers = [first, await its.refresh(grant), await its.refresh(grant), await its.refresh(grant)];
            tokens.push(...answers.map((answer) => String(answer.body.access_token)));
            expect((await its.revoke(grant)).status).to.equal(200);
          });
          const ofTask = lines.filter((line) => line.agent_id === its.id);
          const jtis = tokens.map((token) => decodeJwt(token).jti);
          expect(fieldsOf(ofTask, 'event', 'decision', 'jti', 'count')).to.deep.equal([
            ['token.issued', 'allow', jtis[0], undefined],
            ...jtis.slice(1).map((jti) => ['token.refreshed', 'allow', jti, undefined]),
            ['task.revoked', 'allow', null, undefined],
          ]);

          // Anonymous denials are still aggregated: this setting is about renewals only.
          const denials = await other.recorded(async () => {
            for (let time = 0; time < 2; time += 1) await other.post('/oauth2/token', { grant_type: 'none' });
          });
          const ofNobody = denials.filter(
            (line) => line.reason === 'unsupported_grant_type' && line.count === undefined,
          );
          expect(ofNobody).to.have.lengthOf(enabled === 'true' ? 1 : 2);
        } finally {
          await other.stop();
        }
      }
    });

    it('keeps a narrowed scope for later refreshes', async () => {
      const grant = await agent.grant();
      expect((await agent.refresh(grant, { scope: 'jira:comment' })).body.scope).to.equal('jira:comment');
      expect((await agent.refresh(grant)).body.scope).to.equal('jira:comment');
    });

    it('omits scopes that have been removed from the registration', async () => {
      const grant = await agent.grant();
      await mandate.admin('PATCH', `/admin/agents/${agent.id}`, { allowed_scopes: ['jira:comment'] });
      expect((await agent.refresh(grant)).body.scope).to.equal('jira:comment');
    });

    it('shortens the last token, which ends with its task', async () => {
      const grant = await agent.grant();
      await withService(mandate.another({}), async (other) => {
        other.clock.advance(20 * 60 - 100);
        const form = agent.refreshForm(grant, {
          client_assertion: agent.assertion({ iat: other.clock.seconds(), exp: other.clock.seconds() + 60 }),
        });
        const answer = await other.post('/oauth2/token', form);
        expect(answer.status, answer.text).to.equal(200);
        const claims = decodeJwt(String(answer.body.access_token));
        // Without this limit the token would live four minutes.
        expect(answer.body.expires_in)
          .to.equal(Number(claims.exp) - Number(claims.iat))
          .and.to.be.below(240);
        expect(claims.exp).to.equal((claims.task as { exp: number }).exp);
      });
    });

    it('takes the instance from the assertion of the refresh', async () => {
      const grant = await agent.grant();
      const answer = await agent.refresh(grant, { client_assertion: agent.assertion({ instance: 'pod-8' }) });
      expect(decodeJwt(String(answer.body.access_token)).act).to.deep.include({ instance: 'pod-8' });
    });

    it('counts concurrent renewals exactly', async () => {
      const grant = await agent.grant();
      const lines = await mandate.recorded(async () => {
        const answers = await Promise.all(Array.from({ length: 25 }, () => agent.refresh(grant)));
        expect(answers.filter((answer) => answer.status === 200)).to.have.lengthOf(25);
        await agent.revoke(grant);
      });
      const renewals = lines.filter((line) => line.event === 'token.refreshed');
      expect(fieldsOf(renewals, 'count')).to.deep.equal([[undefined], [24]]);
    });
  });
}
