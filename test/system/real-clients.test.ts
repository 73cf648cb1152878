/** OAuth clients as they come from npm, unmodified, against the running service. */

import { expect } from 'chai';
import { createRemoteJWKSet, importJWK, jwtVerify } from 'jose';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { databases } from '../support/databases.ts';
import { JIRA, type Mandate, type RegisteredAgent, startMandate } from '../support/mandate.ts';

const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';

const targets = databases.flatMap((database) => [
  { database, issuerPath: '', where: `on ${database.name}` },
  { database, issuerPath: '/tenants/one', where: `of an issuer with a path on ${database.name}` },
]);

for (const { database, issuerPath, where } of targets) {
  describe(`unmodified clients ${where}`, () => {
    let mandate: Mandate;
    let agent: RegisteredAgent;
    before(async () => {
      // The issuer is where it really listens: clients hold the one against the other.
      mandate = await startMandate({ database, issuer: 'own-address', issuerPath });
      agent = await mandate.agent();
    });
    after(() => mandate.stop());

    const parameters = (): Record<string, string> => {
      const form = agent.exchangeForm();
      return Object.fromEntries(
        Object.entries(form).flatMap(([name, value]) =>
          name === 'grant_type' || value === undefined ? [] : [[name, value]],
        ),
      );
    };

    it('openid-client discovers, exchanges, refreshes, introspects and revokes', async () => {
      const key = await importJWK(agent.key.privateJwk, 'ES256');
      if (key instanceof Uint8Array) throw new Error('not a private key');
      const config = await openid.discovery(new URL(mandate.issuer), agent.id, undefined, openid.PrivateKeyJwt(key), {
        execute: [openid.allowInsecureRequests],
      });
      const issued = await openid.genericGrantRequest(config, EXCHANGE, parameters());
      expect(issued.token_type).to.equal('bearer');
      const grant = issued.refresh_token ?? '';
      const renewed = await openid.refreshTokenGrant(config, grant, { resource: JIRA });
      expect(renewed.access_token).not.to.equal(issued.access_token);
      expect((await openid.tokenIntrospection(config, renewed.access_token)).active).to.equal(true);
      await openid.tokenRevocation(config, grant);
      expect((await openid.tokenIntrospection(config, renewed.access_token)).active).to.equal(false);
    });

    it('openid-client sends a client_assertion beside the actor_token, which is authenticated and spent', async () => {
      const key = await importJWK(agent.key.privateJwk, 'ES256');
      if (key instanceof Uint8Array) throw new Error('not a private key');
      const config = await openid.discovery(new URL(mandate.issuer), agent.id, undefined, openid.PrivateKeyJwt(key), {
        algorithm: 'oauth2',
        execute: [openid.allowInsecureRequests],
      });
      const sent: URLSearchParams[] = [];
      config[openid.customFetch] = (url, init) => {
        sent.push(new URLSearchParams(String(init.body)));
        return fetch(url, init as RequestInit);
      };
      await openid.genericGrantRequest(config, EXCHANGE, parameters());
      const client_assertion = sent[0]?.get('client_assertion') ?? '';
      expect(client_assertion).to.match(/^[\w-]+\.[\w-]+\.[\w-]+$/);
      const lines = await mandate.recorded(async () => {
        expect((await agent.exchange({ actor_token: client_assertion })).status).to.equal(401);
      });
      expect(lines.at(-1)).to.include({ reason: 'actor_replayed', agent_id: agent.id });

      const { actor_token, actor_token_type, ...alone } = parameters();
      const refusal = await openid.genericGrantRequest(config, EXCHANGE, alone).catch((error: unknown) => error);
      expect(refusal).to.be.instanceOf(openid.ResponseBodyError).and.include({
        error: 'invalid_request',
        error_description: 'The parameter actor_token is missing.',
      });
    });

    it('oauth4webapi exchanges, refreshes and revokes from the RFC 8414 document, and reads our refusals', async () => {
      const insecure = { [oauth.allowInsecureRequests]: true };
      const issuer = new URL(mandate.issuer);
      const server = await oauth.processDiscoveryResponse(
        issuer,
        await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure }),
      );
      const key = await importJWK(agent.key.privateJwk, 'ES256');
      if (key instanceof Uint8Array) throw new Error('not a private key');
      const client = { client_id: agent.id };
      const authentication = oauth.PrivateKeyJwt({ key, kid: agent.key.kid });
      const response = await oauth.genericTokenEndpointRequest(
        server,
        client,
        authentication,
        EXCHANGE,
        parameters(),
        insecure,
      );
      const issued = await oauth.processGenericTokenEndpointResponse(server, client, response);

      let refusal: unknown;
      try {
        const refused = await oauth.refreshTokenGrantRequest(
          server,
          client,
          authentication,
          issued.refresh_token ?? '',
          {
            additionalParameters: { resource: JIRA, scope: 'jira:admin' },
            ...insecure,
          },
        );
        await oauth.processRefreshTokenResponse(server, client, refused);
      } catch (error) {
        refusal = error;
      }
      expect(refusal).to.be.instanceOf(oauth.ResponseBodyError).and.include({ error: 'invalid_scope', status: 400 });

      const revoked = await oauth.revocationRequest(
        server,
        client,
        authentication,
        issued.refresh_token ?? '',
        insecure,
      );
      await oauth.processRevocationResponse(revoked);
    });

    it('jose verifies the token with the issuer URL alone', async () => {
      const issued = await agent.exchange();
      const metadata = (await (await fetch(`${mandate.issuer}/.well-known/openid-configuration`)).json()) as {
        jwks_uri: string;
      };
      const verified = await jwtVerify(
        String(issued.body.access_token),
        createRemoteJWKSet(new URL(metadata.jwks_uri)),
        { issuer: mandate.issuer, audience: JIRA, typ: 'at+jwt', algorithms: ['ES256'] },
      );
      expect(verified.protectedHeader.kid).to.be.a('string');
    });
  });
}
