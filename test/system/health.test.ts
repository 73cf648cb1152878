/** Discovery, the key set and health. */

import { expect } from 'chai';
import { databases } from '../support/databases.ts';
import { startIdentityProvider } from '../support/identity-provider/identity-provider.ts';
import { type Mandate, sharedMandate } from '../support/mandate.ts';
import { untilReady } from './until-ready.ts';

for (const database of databases) {
  describe(`discovery and health on ${database.name}`, () => {
    let mandate: Mandate;
    before(async () => {
      mandate = await sharedMandate(database);
    });

    it('publishes the same metadata for OpenID and OAuth clients, and nothing it does not do', async () => {
      const openid = await mandate.get('/.well-known/openid-configuration');
      const oauth = await mandate.get('/.well-known/oauth-authorization-server');
      const algorithms = ['ES256', 'PS256', 'RS256'];
      expect(openid.body).to.deep.equal(oauth.body);
      expect(openid.body).to.deep.equal({
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
      });
    });

    it('publishes public keys only, and lets them be kept for five minutes', async () => {
      const answer = await mandate.get('/.well-known/jwks.json');
      expect(answer.headers.get('cache-control')).to.equal('public, max-age=300');
      const keys = answer.body.keys as Record<string, unknown>[];
      expect(keys).to.have.lengthOf(1);
      expect(keys[0]).to.have.all.keys('kty', 'crv', 'x', 'y', 'kid', 'alg', 'use');
      expect(keys[0]).to.include({ kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig' });
    });

    it('is healthy, in one word', async () => {
      const answer = await mandate.get('/healthz');
      expect(answer.status).to.equal(200);
      expect(answer.headers.get('content-type')).to.match(/^text\/plain/);
      expect(answer.text).to.equal('Healthy');
    });

    it('is ready once the database, the signing key and the identity provider’s keys are there', async () => {
      expect((await (await mandate.agent()).exchange()).status).to.equal(200);
      const answer = await untilReady(mandate, { accept: 'application/json' });
      expect(answer.status, answer.text).to.equal(200);
      expect(answer.body.status).to.equal('Healthy');
      expect(answer.body.checks).to.have.all.keys('database', 'signing_key', 'identity_provider_keys');
      expect((await untilReady(mandate)).text).to.equal('Healthy');
    });

    it('is not ready before the identity provider was reached, and ready later without a restart', async () => {
      const provider = await startIdentityProvider();
      await provider.goDown();
      const early = await mandate.another({}, provider);
      const answer = await early.get('/readyz', { accept: 'application/json' });
      expect(answer.status).to.equal(503);
      expect(answer.body.status).to.equal('Unhealthy');
      expect((await early.get('/healthz')).status).to.equal(200);
      await provider.comeBack();
      // An exchange that needs the keys fetches them.
      early.clock.advance(30);
      expect((await (await early.agent()).exchange()).status).to.equal(200);
      expect((await untilReady(early)).text).to.equal('Healthy');
      await early.stop();
      await provider.stop();
    });

    it('is degraded, and still ready, fifteen minutes after the last successful fetch of keys', async () => {
      const provider = await startIdentityProvider();
      const other = await mandate.another({}, provider);
      expect((await (await other.agent()).exchange()).status).to.equal(200);
      expect((await untilReady(other)).text).to.equal('Healthy');
      await provider.goDown();
      other.clock.advance(15 * 60 + 1);
      const answer = await untilReady(other);
      expect(answer.status).to.equal(200);
      expect(answer.text).to.equal('Degraded');
      await other.stop();
      await provider.stop();
    });
  });
}
