/** Token exchange (RFC 8693): the task token, its record, and the assertions that the exchange uses up. */

import { expect } from 'chai';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { databases } from '../support/databases.ts';
import { type Answer, fieldsOf, JIRA, withService } from '../support/mandate.ts';
import { testAssertions } from './token-exchange/assertions.ts';
import { serviceOn } from './token-exchange/service.ts';

for (const database of databases) {
  describe(`Token exchange on ${database.name}`, () => {
    const service = serviceOn(database);

    it('refuses the token that an application got for itself at a real provider, and names no person', async () => {
      const { mandate, agent } = service;
      const token = await mandate.provider.machineToken('jira:read');
      // It has the audience and the scope of a person's token.
      expect(decodeJwt(token)).to.include({ aud: mandate.provider.audience, scope: 'jira:read' });
      const lines = await mandate.recorded(async () => {
        const answer = await agent.exchange({ subject_token: token, scope: 'jira:read' });
        expect([answer.status, answer.body.error]).to.deep.equal([400, 'invalid_grant']);
      });
      expect(fieldsOf(lines, 'event', 'decision', 'reason', 'agent_id', 'sponsor', 'task_id')).to.deep.equal([
        ['token.denied', 'deny', 'subject_not_a_person', agent.id, null, null],
      ]);
    });

    it('issues a task token for a person who signed in at a real provider', async () => {
      const { mandate, agent } = service;
      const person = await mandate.provider.signIn('ada', { scope: 'jira:read calendar:read' });
      const answer = await agent.exchange({
        subject_token: person.accessToken,
        actor_token: agent.assertion({ instance: 'pod-7' }),
        scope: 'jira:read jira:comment',
      });

      expect(answer.status, answer.text).to.equal(200);
      expect(answer.headers.get('content-type')).to.match(/^application\/json/);
      expect(answer.body).to.have.all.keys(
        'access_token',
        'issued_token_type',
        'token_type',
        'expires_in',
        'scope',
        'refresh_token',
        'task_id',
        'task_expires_at',
      );
      expect(answer.body).to.include({
        issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        token_type: 'Bearer',
        expires_in: 240,
        // Ada holds jira:comment, but has not consented to it at her sign-in.
        scope: 'jira:read',
      });
      expect(answer.body.task_id).to.match(/^task_[0-9A-HJKMNP-TV-Z]{26}$/);
      expect(answer.body.refresh_token).to.match(/^task_grant_[A-Za-z0-9_-]{43}$/);
      expect(answer.body.task_expires_at).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);

      const token = String(answer.body.access_token);
      expect(decodeProtectedHeader(token)).to.include({ alg: 'ES256', typ: 'at+jwt' });
      const claims = decodeJwt(token);
      const { iat = 0 } = claims;
      expect(claims).to.deep.equal({
        iss: mandate.issuer,
        sub: 'ada',
        aud: JIRA,
        iat,
        exp: iat + 240,
        jti: claims.jti,
        scope: 'jira:read',
        client_id: `agent:${agent.id}`,
        act: { sub: `agent:${agent.id}`, instance: 'pod-7', depth: 1 },
        task: { id: answer.body.task_id, exp: iat + 1200, sponsor: 'ada' },
      });
      expect(claims.jti).to.match(/^tok_[0-9A-HJKMNP-TV-Z]{26}$/);
      expect(answer.body.task_expires_at).to.equal(new Date((iat + 1200) * 1000).toISOString().replace('.000', ''));
    });

    it('takes a null member of a subject token for an absent one', async () => {
      const { mandate, agent } = service;
      const nulls = { nbf: null, sid: null, act: null, cnf: null, events: null, azp: null };
      const token = mandate.provider.mintAccessToken(nulls, { typ: null, crit: null });
      const answer = await agent.exchange({ subject_token: token });
      expect(answer.status, answer.text).to.equal(200);
    });

    it('records the issued token with the ids and claims of the response', async () => {
      const { mandate, agent } = service;
      let issued: Answer | undefined;
      const lines = await mandate.recorded(async () => {
        issued = await agent.exchange();
      });
      expect(lines).to.have.lengthOf(1);
      expect(lines[0]).to.deep.include({
        event: 'token.issued',
        task_id: issued?.body.task_id,
        agent_id: agent.id,
        sponsor: 'ada',
        audience: JIRA,
        scope: 'jira:read jira:comment',
        jti: decodeJwt(String(issued?.body.access_token)).jti,
        delegation_depth: 1,
        decision: 'allow',
        reason: null,
        checkpoint: null,
      });
      expect(lines[0]?.ts).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      expect(lines[0]).not.to.have.any.keys('count', 'detail');
    });

    it('ignores unknown parameters', async () => {
      const { agent } = service;
      const answer = await agent.exchange({ client_id: agent.id, audience: 'https://y.example', nonce: 'x' });
      expect(answer.status, answer.text).to.equal(200);
    });

    it('refuses a task that would last less than five seconds, and stores no task', async () => {
      const { mandate } = service;
      const settings = { 'Service:Agents:MinTaskTtl': 'PT1S', 'Service:Agents:MinTokenTtl': 'PT1S' };
      await withService(mandate.another(settings), async (brief) => {
        brief.clock.standStill();
        for (const [ttl, status, removal] of [
          ['PT4S', 400, 204],
          ['PT6S', 200, 409],
        ] as const) {
          const short = await brief.agent({ max_task_ttl: ttl, max_token_ttl: ttl });
          const lines = await brief.recorded(async () => {
            const answer = await short.exchange();
            expect(answer.status, answer.text).to.equal(status);
            if (status === 400) expect(answer.body).to.include({ error: 'access_denied', reason: 'task_ending' });
          });
          expect(fieldsOf(lines, 'event', 'reason', 'agent_id', 'sponsor')).to.deep.equal([
            [...(status === 400 ? ['token.denied', 'task_ending'] : ['token.issued', null]), short.id, 'ada'],
          ]);
          // An agent can be deleted only if none of its tasks is stored.
          expect((await brief.admin('DELETE', `/admin/agents/${short.id}`)).status).to.equal(removal);
        }
      });
    });

    it('uses the current registration, which another process has changed', async () => {
      const { mandate, agent } = service;
      await withService(mandate.another({}), async (other) => {
        const patch = (changes: object) => other.admin('PATCH', `/admin/agents/${agent.id}`, changes);
        expect((await agent.exchange()).status, 'the registration was read here').to.equal(200);
        const added = 'https://added.example';
        await patch({ allowed_audiences: [JIRA, added] });
        const issued = await agent.exchange({ resource: added });
        expect(issued.status, issued.text).to.equal(200);
        await patch({ enabled: false });
        const lines = await mandate.recorded(async () => {
          expect((await agent.exchange()).body.reason).to.equal('agent_disabled');
        });
        expect(fieldsOf(lines, 'event', 'reason')).to.deep.equal([['token.denied', 'agent_disabled']]);
        await patch({ enabled: true });
        expect((await agent.refresh(String(issued.body.refresh_token), { resource: added })).status).to.equal(200);
      });
    });

    testAssertions(service);
  });
}
