/** A client that a metadata document describes, at the token endpoint (draft-ietf-oauth-client-id-metadata-document). */

import { createHash, randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { type AgentKey, makeAgentKey } from '../../support/agents/agent-key.ts';
import { allowedRequest, keptRequest, REDIRECT } from '../../support/authorize/allowed-request.ts';
import { databasesByLength } from '../../support/databases.ts';
import { eventually } from '../../support/eventually.ts';
import { type Loopback, startLoopback } from '../../support/loopback.ts';
import { type Form, fieldsOf, type Mandate, type RegisteredAgent } from '../../support/mandate.ts';
import { keyAgent, publicAgent, startDoor, token } from './clients.ts';

for (const database of databasesByLength) {
  describe(`A client with a document at the token endpoint on ${database.name}`, () => {
    let mandate: Mandate;
    before(async () => {
      mandate = await startDoor(database);
    });
    after(() => mandate.stop());

    /** Publishes a document. Resolves with its URL. */
    async function published(members: object): Promise<string> {
      const document = {};
      const uri = await mandate.keyServer.serve(document);
      Object.assign(document, { client_id: uri, redirect_uris: [REDIRECT], ...members });
      return uri;
    }

    const code = async (agent: RegisteredAgent) => (await allowedRequest(mandate, agent.id)).form();

    function signed(key: AgentKey, name: string): Form {
      const now = mandate.clock.seconds();
      return {
        client_id: name,
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: key.signAssertion(name, { aud: mandate.issuer, iat: now, exp: now + 60 }),
      };
    }

    it('is public if the document says so, under both of its names', async () => {
      const uri = await published({ token_endpoint_auth_method: 'none' });
      const agent = await publicAgent(mandate, { public_client: false, redirect_uris: null, client_id_document: uri });
      for (const client_id of [uri, agent.id]) {
        const first = await token(mandate, { ...(await code(agent)), client_id });
        expect(first.status, first.text).to.equal(200);
        const refresh = { grant_type: 'refresh_token', refresh_token: String(first.body.refresh_token), client_id };
        expect((await token(mandate, refresh)).status).to.equal(200);
        const revoked = await mandate.post('/oauth2/revoke', { token: String(first.body.access_token), client_id });
        expect(revoked.status).to.equal(200);
        expect(await mandate.introspect(first)).to.include({ active: false });
      }
      const another = `${uri}x`;
      expect((await token(mandate, { ...(await code(agent)), client_id: another })).status).to.equal(401);
    });

    it('redeems and refreshes with the keys of the document alone, while its registered keys are for exchanges', async () => {
      const key = await makeAgentKey();
      const uri = await published({ token_endpoint_auth_method: 'private_key_jwt', jwks: key.jwks });
      const agent = await keyAgent(mandate, { public_client: true, client_id_document: uri });
      for (const name of [uri, agent.id]) {
        const form = await code(agent);
        const lines = await mandate.recorded(async () => {
          expect((await token(mandate, { ...form, ...signed(agent.key, name) })).status).to.equal(401);
          expect((await token(mandate, { ...form, client_id: name })).status).to.equal(401);
        });
        expect(fieldsOf(lines, 'reason', 'agent_id')).to.deep.equal([
          ['actor_unknown_key', null],
          ['client_not_public', null],
        ]);
        const first = await token(mandate, { ...form, ...signed(key, name) });
        expect(first.status, first.text).to.equal(200);
        const refresh = { grant_type: 'refresh_token', refresh_token: String(first.body.refresh_token) };
        expect((await token(mandate, { ...refresh, ...signed(key, name) })).status).to.equal(200);
        const own = await mandate.recorded(async () => {
          expect((await token(mandate, { ...refresh, ...signed(agent.key, agent.id) })).status).to.equal(401);
        });
        expect(fieldsOf(own, 'reason', 'agent_id')).to.deep.equal([['actor_unknown_key', agent.id]]);
      }
      const exchanged = await agent.exchange();
      expect(exchanged.status, exchanged.text).to.equal(200);
      expect((await agent.refresh(String(exchanged.body.refresh_token))).status).to.equal(200);
      expect((await agent.exchange({ actor_token: signed(key, agent.id).client_assertion })).status).to.equal(401);
      expect((await agent.exchange({ actor_token: signed(key, uri).client_assertion })).status).to.equal(200);
    });

    it('is told to retry while its document cannot be fetched, and the code stays', async () => {
      const uri = await mandate.keyServer.unusedUri();
      const agent = await keyAgent(mandate, { public_client: true, client_id_document: uri });
      const form = await code(agent);
      for (const way of [{}, signed(agent.key, agent.id)]) {
        const lines = await mandate.recorded(async () => {
          const answer = await token(mandate, { ...form, ...way });
          expect([answer.status, answer.body.error]).to.deep.equal([503, 'temporarily_unavailable']);
        });
        expect(fieldsOf(lines, 'reason', 'agent_id')).to.deep.equal([['actor_keys_unavailable', null]]);
      }
      await mandate.admin('PATCH', `/admin/agents/${agent.id}`, { client_id_document: null });
      expect((await token(mandate, form)).status).to.equal(200);
    });

    it('cannot redeem a code for a redirect that its document has lost', async () => {
      const uri = await published({ token_endpoint_auth_method: 'none', redirect_uris: ['https://editor.example/a'] });
      const agent = await publicAgent(mandate, { client_id_document: uri });
      const lines = await mandate.recorded(async () => {
        expect((await token(mandate, await code(agent))).body.error).to.equal('invalid_grant');
      });
      expect(fieldsOf(lines, 'event', 'reason', 'agent_id').at(-1)).to.deep.equal([
        'token.denied',
        'redirect_uri_not_registered',
        agent.id,
      ]);
    });
  });
  describe(`While the host of a client's document does not answer, on ${database.name}`, function () {
    this.timeout(60_000);
    let mandate: Mandate;
    let host: Loopback;
    before(async () => {
      host = await startLoopback(() => undefined, { tls: true });
      // A request that gets no permit within two seconds is refused.
      const settings = { 'Service:Overload:ConcurrencyLimit': '3', 'Service:Overload:QueueLimit': '200' };
      mandate = await startDoor(database, { settings });
    });
    after(async () => {
      await host.close();
      await mandate.stop();
    });

    it('requests that wait for it hold no permit: other clients and pages are served', async () => {
      const [other, key] = [await mandate.agent(), await makeAgentKey()];
      const uri = `${host.url}/client`;
      const agent = await publicAgent(mandate, { client_id_document: uri });
      const secret = randomBytes(32).toString('base64url');
      const browserHash = createHash('sha256').update(secret).digest('hex');
      const { authorization } = await keptRequest(mandate, agent.id, { browserHash });
      const page = `/oauth2/authorize/${authorization.requestId}`;
      const headers = { cookie: `__Host-mandate-authorize-abcdefgh=1.${secret}`, accept: 'text/html' };
      const { form } = await allowedRequest(mandate, agent.id);
      const refresh = { grant_type: 'refresh_token', refresh_token: 'task_grant_x', client_id: agent.id };
      const signed = {
        ...refresh,
        client_id: uri,
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: key.signAssertion(uri, { aud: mandate.issuer, exp: mandate.clock.seconds() + 60 }),
      };
      const waiting = Array.from({ length: 4 }, () => [
        token(mandate, form()),
        token(mandate, refresh),
        token(mandate, signed),
        mandate.post('/oauth2/revoke', { token: 'x', client_id: agent.id }),
        mandate.get(page, headers),
      ]).flat();
      await eventually(() => host.received.length > 0);
      expect((await other.exchange()).status).to.equal(200);
      expect((await mandate.get('/oauth2/authorize/req_unknown', headers)).status).to.equal(400);
      expect(host.received).to.have.lengthOf(1);
      await host.close();
      const answers = await Promise.all(waiting);
      expect(answers.map(({ status }) => status)).to.deep.equal(Array(4).fill([503, 503, 503, 503, 200]).flat());
    });
  });
}
