/** A client that a metadata document describes, at the token endpoint (draft-ietf-oauth-client-id-metadata-document). */

import { expect } from 'chai';
import { type AgentKey, makeAgentKey } from '../../support/agents/agent-key.ts';
import { allowedRequest, REDIRECT } from '../../support/authorize/allowed-request.ts';
import { databasesByLength } from '../../support/databases.ts';
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
}
