/** Token exchange (RFC 8693): the task token, its record, and the assertions that the exchange uses up. */

import { expect } from 'chai';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { makeAgentKey } from '../support/agents/agent-key.ts';
import { databases } from '../support/databases.ts';
import {
  type Answer,
  fieldsOf,
  JIRA,
  type Mandate,
  type RegisteredAgent,
  startMandate,
  WIKI,
} from '../support/mandate.ts';

const CLIENT_ASSERTION = {
  client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
};

for (const database of databases) {
  describe(`Token exchange on ${database.name}`, () => {
    let mandate: Mandate;
    let agent: RegisteredAgent;
    before(async () => {
      mandate = await startMandate({
        database,
        settings: {
          // Each refusal has its own record.
          'Service:Audit:Aggregation:Enabled': 'false',
          // A hundred requests must reach the decision at once, also on a slow machine.
          'Service:Overload:Enabled': 'false',
        },
      });
    });
    beforeEach(async () => {
      agent = await mandate.agent();
    });
    after(() => mandate.stop());

    it('refuses the token that an application got for itself at a real provider, and names no person', async () => {
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
      const nulls = { nbf: null, sid: null, act: null, cnf: null, events: null, azp: null };
      const token = mandate.provider.mintAccessToken(nulls, { typ: null, crit: null });
      const answer = await agent.exchange({ subject_token: token });
      expect(answer.status, answer.text).to.equal(200);
    });

    it('records the issued token with the ids and claims of the response', async () => {
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

    it('sets introspect_required in a token for a high-risk audience', async () => {
      const issued = await agent.exchange({ resource: WIKI });
      expect(decodeJwt(String(issued.body.access_token)).introspect_required).to.equal(true);
    });

    it('opens exactly one task if one assertion is presented a hundred times at once', async () => {
      const form = agent.exchangeForm();
      const lines = await mandate.recorded(async () => {
        const answers = await Promise.all(Array.from({ length: 100 }, () => mandate.post('/oauth2/token', form)));
        expect(answers.filter((answer) => answer.status === 200)).to.have.lengthOf(1);
        expect(answers.filter((answer) => answer.body.error === 'invalid_client')).to.have.lengthOf(99);
      });
      expect(lines.filter((line) => line.event === 'token.issued')).to.have.lengthOf(1);
      expect(lines.filter((line) => line.reason === 'actor_replayed')).to.have.lengthOf(99);
    });

    it("reads the person's scopes from scp if the token has no scope", async () => {
      for (const [claims, scope] of [
        [{ scope: undefined, scp: ['jira:read', 'calendar:read'] }, 'jira:read'],
        [{ scope: undefined, scp: 'jira:comment' }, 'jira:comment'],
        [{ scope: 'jira:read', scp: 'jira:comment' }, 'jira:read'],
      ] as const) {
        const answer = await agent.exchangeFor(claims);
        expect([answer.status, answer.body.scope], answer.text).to.deep.equal([200, scope]);
      }
    });

    it('accepts a sponsor key of at most 256 UTF-16 code units', async () => {
      const sub = '👋'.repeat(128);
      const issued = await agent.exchangeFor({ sub });
      expect(issued.status, issued.text).to.equal(200);
      expect(decodeJwt(String(issued.body.access_token)).sub).to.equal(sub);
      const stopped = await mandate.admin('DELETE', `/admin/sponsors/${encodeURIComponent(sub)}/tasks`);
      expect(stopped.body).to.deep.equal({ revoked_tasks: 1 });
      const longer = await mandate.admin('GET', `/admin/sponsors/${encodeURIComponent(`${sub}x`)}`);
      expect([longer.status, Object.keys(longer.body.errors as object)]).to.deep.equal([400, ['sponsor_key']]);
    });

    it('reads a null instance as absent', async () => {
      const issued = await agent.exchange({ actor_token: agent.assertion({ instance: null }) });
      expect(issued.status, issued.text).to.equal(200);
      const act = { sub: `agent:${agent.id}`, depth: 1 };
      expect(decodeJwt(String(issued.body.access_token)).act).to.deep.equal(act);
      const grant = String(issued.body.refresh_token);
      const renewed = await agent.refresh(grant, { client_assertion: agent.assertion({ instance: null }) });
      expect(decodeJwt(String(renewed.body.access_token)).act).to.deep.equal(act);
    });

    it('ignores unknown parameters', async () => {
      const answer = await agent.exchange({ client_id: agent.id, audience: 'https://y.example', nonce: 'x' });
      expect(answer.status, answer.text).to.equal(200);
    });

    it('accepts a client_assertion in addition to the actor_token, and marks both as used', async () => {
      const actor_token = agent.assertion({ instance: 'pod-7' });
      const client_assertion = agent.assertion({ instance: 'another' });
      const lines = await mandate.recorded(async () => {
        const issued = await agent.exchange({ ...CLIENT_ASSERTION, actor_token, client_assertion });
        expect(issued.status, issued.text).to.equal(200);
        // The instance is from the actor_token.
        expect(decodeJwt<{ act: object }>(String(issued.body.access_token)).act).to.include({ instance: 'pod-7' });
      });
      expect(lines.map(({ event }) => event)).to.deep.equal(['token.issued']);
      for (const spent of [actor_token, client_assertion]) {
        const replays = await mandate.recorded(async () => {
          for (const form of [{ actor_token: spent }, { ...CLIENT_ASSERTION, client_assertion: spent }]) {
            const answer = await agent.exchange(form);
            expect([answer.status, answer.body.error]).to.deep.equal([401, 'invalid_client']);
          }
        });
        for (const line of replays) expect(line).to.include({ reason: 'actor_replayed', agent_id: agent.id });
        expect(replays).to.have.lengthOf(2);
      }
    });

    it('marks both assertions of a refused exchange as used, and neither after a 503', async () => {
      const both = () => ({ ...CLIENT_ASSERTION, actor_token: agent.assertion(), client_assertion: agent.assertion() });
      const refused = both();
      expect((await agent.exchange({ ...refused, scope: 'nobody:has' })).body.error).to.equal('invalid_scope');
      for (const form of [
        { actor_token: refused.actor_token },
        { ...CLIENT_ASSERTION, client_assertion: refused.client_assertion },
      ]) {
        expect((await agent.exchange(form)).body.error).to.equal('invalid_client');
      }
      const cut = await mandate.another({ 'Service:UpstreamIdp:Issuer': 'http://127.0.0.1:9' });
      const unused = both();
      expect((await cut.post('/oauth2/token', agent.exchangeForm(unused))).body.error).to.equal(
        'temporarily_unavailable',
      );
      await cut.stop();
      expect((await agent.exchange(unused)).status).to.equal(200);
    });

    it('opens exactly one task for one client_assertion with many actor_tokens at once', async () => {
      const client_assertion = agent.assertion();
      const lines = await mandate.recorded(async () => {
        const answers = await Promise.all(
          Array.from({ length: 30 }, () => agent.exchange({ ...CLIENT_ASSERTION, client_assertion })),
        );
        expect(answers.filter(({ status }) => status === 200)).to.have.lengthOf(1);
        expect(answers.filter(({ body }) => body.error === 'invalid_client')).to.have.lengthOf(29);
      });
      expect(lines.filter(({ event }) => event === 'token.issued')).to.have.lengthOf(1);
      expect(lines.filter(({ reason }) => reason === 'actor_replayed')).to.have.lengthOf(29);
    });

    it('refuses a client_assertion without an actor_token, and does not mark it as used', async () => {
      const client_assertion = agent.assertion();
      const lines = await mandate.recorded(async () => {
        const form = { ...CLIENT_ASSERTION, client_assertion, actor_token: undefined, actor_token_type: undefined };
        const answer = await agent.exchange(form);
        expect([answer.status, answer.body]).to.deep.equal([
          400,
          { error: 'invalid_request', error_description: 'The parameter actor_token is missing.' },
        ]);
      });
      expect(fieldsOf(lines, 'reason', 'agent_id')).to.deep.equal([['invalid_request', null]]);
      // The service has not read the assertion, so it is still unused.
      expect((await agent.exchange({ actor_token: client_assertion })).status).to.equal(200);
    });

    it('accepts assertions signed with RS256 and PS256, with and without a kid', async () => {
      for (const alg of ['RS256', 'PS256'] as const) {
        const key = await makeAgentKey(alg);
        const signer = await mandate.agent({ jwks: key.jwks });
        for (const kid of [key.kid, undefined]) {
          const assertion = key.signAssertion(signer.id, { aud: `${mandate.issuer}/oauth2/token` }, { kid });
          expect((await signer.exchange({ actor_token: assertion })).status).to.equal(200);
        }
      }
    });

    it('fetches the keys at a jwks_uri once for several concurrent exchanges', async () => {
      const key = await makeAgentKey();
      const uri = await mandate.keyServer.serve(key.jwks);
      const remote = await mandate.agent({ jwks: undefined, jwks_uri: uri });
      const answers = await Promise.all(
        Array.from({ length: 20 }, () =>
          remote.exchange({ actor_token: key.signAssertion(remote.id, { aud: mandate.issuer }) }),
        ),
      );
      expect(answers.map((answer) => answer.status)).to.deep.equal(answers.map(() => 200));
      expect(mandate.keyServer.requests(uri)).to.equal(1);
      expect((await mandate.get(`/agents/${remote.id}/jwks.json`)).status).to.equal(404);
    });

    it('refuses a task that would last less than five seconds, and stores no task', async () => {
      const brief = await mandate.another({
        'Service:Agents:MinTaskTtl': 'PT1S',
        'Service:Agents:MinTokenTtl': 'PT1S',
      });
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
      await brief.stop();
    });

    it('uses the current registration, which another process has changed', async () => {
      const other = await mandate.another({});
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
      await other.stop();
    });

    it('refuses an assertion that another process on the same database has already accepted', async () => {
      const form = agent.exchangeForm();
      expect((await mandate.post('/oauth2/token', form)).status).to.equal(200);
      const other = await mandate.another({});
      const lines = await other.recorded(async () => {
        const replay = await other.post('/oauth2/token', form);
        expect(replay.status).to.equal(401);
      });
      expect(lines.at(-1)).to.include({ reason: 'actor_replayed', agent_id: agent.id });
      await other.stop();
    });
  });
}
