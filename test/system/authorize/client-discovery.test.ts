/** What a program finds out before it sends a person to `/oauth2/authorize`: metadata, its registration, and CORS. */

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { databasesByLength } from '../../support/databases.ts';
import { fieldsOf, type Mandate, startMandate } from '../../support/mandate.ts';

const OPEN = { 'Service:Me:ClientId': 'page', 'Service:Authorize:ClientId': 'authorize' };
const PUBLIC = { ...OPEN, 'Service:Authorize:PublicClients': 'true' };
const METADATA = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'];
const ORIGIN = { origin: 'https://inspector.example' };

for (const database of databasesByLength) {
  describe(`The discovery of /oauth2/authorize on ${database.name}`, function () {
    this.timeout(60_000);
    let shut: Mandate;
    let open: Mandate;
    let known: Mandate;
    before(async () => {
      shut = await startMandate({ database, settings: { 'Service:Audit:Aggregation:Enabled': 'false' } });
      open = await shut.another(OPEN);
      known = await shut.another({ ...PUBLIC, 'Service:Authorize:Registration': 'known' });
    });
    after(async () => {
      for (const one of [known, open, shut]) await one.stop();
    });

    const register = (
      body: unknown,
      headers: Readonly<Record<string, string>> = { 'content-type': 'application/json' },
    ) =>
      known.send('/oauth2/register', {
        method: 'POST',
        headers,
        body: typeof body === 'string' ? body : JSON.stringify(body),
      });
    const preflight = (at: Mandate, path: string) =>
      at.send(path, { method: 'OPTIONS', headers: { ...ORIGIN, 'access-control-request-method': 'POST' } });

    it('is in the metadata, and says what the settings allow', async () => {
      const keys = ['private_key_jwt'];
      const both = [...keys, 'none'];
      for (const path of METADATA) {
        const { body: of } = await open.get(path);
        expect(of).to.deep.include({
          response_types_supported: ['code'],
          response_modes_supported: ['query'],
          code_challenge_methods_supported: ['S256'],
          authorization_response_iss_parameter_supported: true,
          client_id_metadata_document_supported: true,
          token_endpoint_auth_methods_supported: keys,
          revocation_endpoint_auth_methods_supported: keys,
        });
        expect(of.grant_types_supported).to.include('authorization_code');
        expect(of).to.not.have.property('registration_endpoint');
        expect((await known.get(path)).body).to.deep.include({
          token_endpoint_auth_methods_supported: both,
          revocation_endpoint_auth_methods_supported: both,
          registration_endpoint: `${known.issuer}/oauth2/register`,
        });
        const without = (await shut.get(path)).body;
        expect(without).to.deep.include({ response_types_supported: [], token_endpoint_auth_methods_supported: keys });
        expect(
          Object.keys(without).filter((name) => /authoriz|code|client_id|registration|modes/.test(name)),
        ).to.deep.equal([]);
      }
    });

    it('gives a program the id of the agent that an operator registered for it, and creates nothing', async () => {
      const id = randomUUID();
      const agent_id = `program-${id}`;
      const of = { agent_id, jwks: undefined, public_client: true, client_names: [`Program ${id} (*`] };
      const scheme = `cursor://${id}/callback`;
      await known.agent({ ...of, redirect_uris: ['http://127.0.0.1/callback', scheme] } as never);
      const agents = async () => (await known.admin('GET', '/admin/agents?limit=1000')).text;
      const before = await agents();
      const redirect_uris = ['http://127.0.0.1:51004/callback', scheme];
      const records = await known.recorded(async () => {
        const { status, body, headers } = await register({
          redirect_uris,
          client_name: `Program ${id} (docs)`,
          token_endpoint_auth_method: 'client_secret_post',
          grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
          response_types: ['code'],
          scope: '',
          application_type: 'native',
          client_uri: 'https://program.example',
          software_id: id,
        });
        expect([status, body]).to.deep.equal([
          201,
          {
            client_id: agent_id,
            client_name: body.client_name,
            redirect_uris,
            token_endpoint_auth_method: 'none',
            grant_types: ['authorization_code', 'refresh_token'],
            response_types: ['code'],
            scope: body.scope,
          },
        ]);
        expect([headers.get('cache-control'), headers.get('access-control-allow-origin')]).to.deep.equal([
          'no-store',
          '*',
        ]);
      });
      expect(records).to.deep.equal([]);
      expect(await agents()).to.equal(before);
      // A disabled agent, one that may not be public, and one that a document describes are none.
      for (const change of [{ enabled: false }, { public_client: false, jwks_uri: 'https://keys.example/k' }]) {
        await known.admin('PATCH', `/admin/agents/${agent_id}`, change);
        expect((await register({ redirect_uris: [scheme], client_name: `Program ${id} (` })).status).to.equal(400);
        await known.admin('PATCH', `/admin/agents/${agent_id}`, { enabled: true, public_client: true });
        expect((await register({ redirect_uris: [scheme], client_name: `Program ${id} (` })).status).to.equal(201);
      }
      const client_id_document = `https://program.example/${id}.json`;
      await known.admin('PATCH', `/admin/agents/${agent_id}`, { client_id_document });
      expect((await register({ redirect_uris: [scheme], client_name: `Program ${id} (` })).body.error).to.equal(
        'invalid_redirect_uri',
      );
    });

    it('refuses every other registration with a sentence for the operator and a record, and repeats nothing of it', async () => {
      const id = randomUUID();
      const scheme = `cursor://${id}/callback`;
      const of = { agent_id: `named-${id}`, jwks: undefined, public_client: true, client_names: ['Named'] };
      await known.agent({ ...of, redirect_uris: [scheme] } as never);
      const [uri, client] = ['invalid_redirect_uri', 'invalid_client_metadata'];
      const json = { 'content-type': 'application/json' };
      const cases: readonly (readonly [unknown, string | undefined, string, RegExp, object?])[] = [
        [{ redirect_uris: ['https://53cr3t.example/'] }, uri, 'redirect_uri_not_registered', /operator registers one/],
        [
          { redirect_uris: [scheme, 'javascript:53cr3t'] },
          uri,
          'redirect_uri_not_registered',
          /operator registers one/,
        ],
        [
          { redirect_uris: [scheme], client_name: '53cr3t' },
          client,
          'client_unknown',
          /operator adds it to client_names/,
        ],
        [{ redirect_uris: [scheme] }, client, 'client_unknown', /operator adds it to client_names/],
        [{ redirect_uris: [scheme], client_name: ['Named'] }, client, 'invalid_request', /must be a string/],
        [{}, uri, 'invalid_request', /array of 1 to 16/],
        [{ redirect_uris: [] }, uri, 'invalid_request', /array of 1 to 16/],
        [{ redirect_uris: scheme }, uri, 'invalid_request', /array of 1 to 16/],
        [{ redirect_uris: Array(17).fill(scheme) }, uri, 'invalid_request', /array of 1 to 16/],
        [`{"redirect_uris":["${scheme}"],"redirect_uris":["53cr3t://x"]}`, client, 'invalid_request', /named twice/],
        ['[]', client, 'invalid_request', /JSON object/],
        ['', client, 'invalid_request', /JSON object/],
        [`{"x":"${'x'.repeat(65_536)}"}`, client, 'invalid_request', /64 KiB/],
        ['redirect_uris=53cr3t', client, 'invalid_request', /application\/json/, { 'content-type': 'text/plain' }],
      ];
      for (const [body, error, reason, sentence, headers = json] of cases) {
        const records = await known.recorded(async () => {
          const answer = await register(body, headers as Record<string, string>);
          expect([answer.status, answer.body.error], answer.text).to.deep.equal([400, error]);
          expect(answer.body.error_description).to.match(sentence);
          expect(answer.text).to.not.include('53cr3t');
          expect(answer.headers.get('access-control-allow-origin')).to.equal('*');
        });
        expect(fieldsOf(records, 'event', 'decision', 'reason', 'agent_id')).to.deep.equal([
          ['authorization.denied', 'deny', reason, null],
        ]);
      }
      const get = await known.get('/oauth2/register');
      expect([get.status, get.headers.get('allow')]).to.deep.equal([405, 'POST']);
    });

    it('has no registration without the setting', async () => {
      for (const at of [open, shut]) {
        const answer = await at.send('/oauth2/register', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: '{}',
        });
        expect(answer.status).to.equal(404);
      }
    });

    it('is open to scripts of every origin, refusals and preflights too, without a record; nothing else is', async () => {
      const opened = [...METADATA, '/.well-known/jwks.json', '/.well-known/oauth-authorization-server/mcp'];
      const posted = ['/oauth2/token', '/oauth2/revoke', '/oauth2/register'];
      const records = await known.recorded(async () => {
        for (const path of [...opened, ...posted]) {
          const { status, headers } = await preflight(known, path);
          expect([status, headers.get('access-control-allow-origin')], path).to.deep.equal([204, '*']);
          expect(headers.get('access-control-allow-headers')).to.equal(
            'authorization, content-type, mcp-protocol-version',
          );
          expect(headers.get('access-control-allow-methods')).to.equal(posted.includes(path) ? 'POST' : 'GET, HEAD');
          expect(headers.get('access-control-allow-credentials')).to.equal(null);
        }
      });
      expect(records).to.deep.equal([]);
      for (const path of opened)
        expect((await known.get(path)).headers.get('access-control-allow-origin')).to.equal('*');
      for (const path of posted) {
        for (const answer of [await known.post(path, {}), await known.get(path)]) {
          expect([answer.status, answer.headers.get('access-control-allow-origin')]).to.deep.equal([
            answer.status < 405 ? answer.status : 405,
            '*',
          ]);
          expect(answer.headers.get('access-control-expose-headers')).to.equal('Retry-After, WWW-Authenticate');
        }
      }
      for (const path of ['/oauth2/introspect', '/oauth2/approval', '/admin/agents', '/audit', '/me']) {
        const { status, headers } = await preflight(known, path);
        expect(status, path).to.not.equal(204);
        expect(headers.get('access-control-allow-origin')).to.equal(null);
      }
      for (const path of posted) {
        const { status, headers } = await preflight(shut, path);
        expect([status === 204, headers.get('access-control-allow-origin')], path).to.deep.equal([false, null]);
      }
    });
  });
}
