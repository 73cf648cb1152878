/** Metadata and key sets (specification "Public"; supplement "Sizes and forms nobody wrote down"). */

import { expect } from 'chai';
import { databasesByLength } from '../support/databases.ts';
import { type Mandate, sharedMandate } from '../support/mandate.ts';

const WELL_KNOWN = [
  '/.well-known/openid-configuration',
  '/.well-known/oauth-authorization-server',
  '/.well-known/jwks.json',
];

for (const database of databasesByLength) {
  describe(`Metadata and key sets on ${database.name}`, () => {
    let mandate: Mandate;
    before(async () => {
      mandate = await sharedMandate(database);
    });

    it('allow any origin, and may be cached for five minutes', async () => {
      const agent = await mandate.agent();
      const lines = await mandate.recorded(async () => {
        for (const path of [...WELL_KNOWN, `/agents/${agent.id}/jwks.json`]) {
          for (const method of ['GET', 'HEAD']) {
            const { status, headers } = await mandate.send(path, {
              method,
              headers: { origin: 'https://console.example' },
            });
            expect(status, path).to.equal(200);
            expect(headers.get('content-type'), path).to.match(/^application\/json/);
            expect(headers.get('access-control-allow-origin'), path).to.equal('*');
            expect(headers.get('access-control-allow-credentials'), path).to.equal(null);
            expect(headers.get('cache-control'), path).to.equal('public, max-age=300');
          }
        }
      });
      expect(lines).to.deep.equal([]);
    });

    it('contain only public keys', async () => {
      const answer = await mandate.get('/.well-known/jwks.json');
      const keys = answer.body.keys as Record<string, unknown>[];
      expect(keys).to.have.lengthOf(1);
      expect(keys[0]).to.have.all.keys('kty', 'crv', 'x', 'y', 'kid', 'alg', 'use');
      expect(keys[0]).to.include({ kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig' });
    });

    it('are the only responses that other origins may read', async () => {
      const agent = await mandate.agent();
      for (const [path, status] of [
        ['/healthz', 200],
        ['/agents/nobody/jwks.json', 404],
        [`/admin/agents/${agent.id}`, 401],
        ['/audit', 401],
        ['/oauth2/token', 405],
        ['/nothing', 404],
      ] as const) {
        const answer = await mandate.get(path, { origin: 'https://console.example' });
        expect(answer.status, path).to.equal(status);
        expect(answer.headers.get('access-control-allow-origin'), path).to.equal(null);
        expect(answer.headers.get('cache-control') ?? '', path).not.to.contain('public');
      }
    });

    it('may be cached, but errors at their paths may not: a missing document may soon exist', async () => {
      for (const [method, path, status] of [
        ['POST', '/.well-known/openid-configuration', 405],
        ['DELETE', '/.well-known/jwks.json', 405],
        ['GET', '/.well-known/nothing', 404],
        ['GET', '/agents/nobody/jwks.json', 404],
        ['GET', '/agents/%ff/jwks.json', 400],
        ['PUT', '/agents/nobody/jwks.json', 405],
        ['GET', '/agents/nobody', 404],
        ['GET', '/status', 404],
        ['GET', '/log/checkpoint', 404],
        ['GET', '/nothing', 404],
      ] as const) {
        const answer = await mandate.send(path, { method });
        const cached = [answer.status, answer.headers.get('cache-control')];
        expect(cached, `${method} ${path}`).to.deep.equal([status, 'no-store']);
      }
    });

    it('have the same content in both metadata documents, and name only supported features', async () => {
      const [openid, oauth] = await Promise.all(WELL_KNOWN.slice(0, 2).map((path) => mandate.get(path)));
      expect(oauth?.body).to.deep.equal(openid?.body);
      const algorithms = ['ES256', 'PS256', 'RS256'];
      expect(openid?.body).to.deep.equal({
        issuer: mandate.issuer,
        token_endpoint: `${mandate.issuer}/oauth2/token`,
        introspection_endpoint: `${mandate.issuer}/oauth2/introspect`,
        revocation_endpoint: `${mandate.issuer}/oauth2/revoke`,
        jwks_uri: `${mandate.issuer}/.well-known/jwks.json`,
        response_types_supported: [],
        grant_types_supported: ['urn:ietf:params:oauth:grant-type:token-exchange', 'refresh_token'],
        token_endpoint_auth_methods_supported: ['private_key_jwt'],
        token_endpoint_auth_signing_alg_values_supported: algorithms,
        revocation_endpoint_auth_methods_supported: ['private_key_jwt'],
        revocation_endpoint_auth_signing_alg_values_supported: algorithms,
        introspection_endpoint_auth_methods_supported: ['none'],
        id_token_signing_alg_values_supported: ['ES256'],
        subject_types_supported: ['public'],
      });
    });
  });
}
