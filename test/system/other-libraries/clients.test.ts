/** Published OAuth clients from npm, unmodified, with the running service. */

import { expect } from 'chai';
import { createRemoteJWKSet, importJWK, jwtVerify } from 'jose';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { databasesByLength } from '../../support/databases.ts';
import { fieldsOf, JIRA, type Mandate, type RegisteredAgent, startMandate } from '../../support/mandate.ts';

const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';

const targets = databasesByLength.flatMap((database) => [
  { database, issuerPath: '', where: `on ${database.name}` },
  { database, issuerPath: '/tenants/one', where: `of an issuer with a path on ${database.name}` },
]);

for (const { database, issuerPath, where } of targets) {
  describe(`Unmodified clients ${where}`, () => {
    let mandate: Mandate;
    let agent: RegisteredAgent;
    before(async () => {
      // The clients compare the issuer with the address of its metadata.
      mandate = await startMandate({ database, issuer: 'own-address', issuerPath });
      agent = await mandate.agent();
    });
    after(() => mandate.stop());

    const parameters = (): Record<string, string> => {
      const { grant_type, ...form } = agent.exchangeForm();
      return form as Record<string, string>;
    };

    const privateKey = async () => {
      const key = await importJWK(agent.key.privateJwk, 'ES256');
      if (key instanceof Uint8Array) throw new Error('not a private key');
      return key;
    };
    const discovered = async (options: openid.DiscoveryRequestOptions = {}) =>
      openid.discovery(new URL(mandate.issuer), agent.id, undefined, openid.PrivateKeyJwt(await privateKey()), {
        ...options,
        execute: [openid.allowInsecureRequests],
      });

    it('openid-client discovers the service, exchanges, refreshes, introspects and revokes', async () => {
      const config = await discovered();
      const issued = await openid.genericGrantRequest(config, EXCHANGE, parameters());
      expect(issued.token_type).to.equal('bearer');
      const grant = issued.refresh_token ?? '';
      const renewed = await openid.refreshTokenGrant(config, grant, { resource: JIRA });
      expect(renewed.access_token).not.to.equal(issued.access_token);
      expect((await openid.tokenIntrospection(config, renewed.access_token)).active).to.equal(true);
      await openid.tokenRevocation(config, grant);
      expect((await openid.tokenIntrospection(config, renewed.access_token)).active).to.equal(false);
      const recorded = await mandate.recorded(async () => {
        const refused = openid.refreshTokenGrant(config, grant, { resource: JIRA });
        const refusal = await refused.catch((error: unknown) => error);
        expect(refusal).to.be.instanceOf(openid.ResponseBodyError).and.include({ error: 'access_denied' });
        expect(refusal).to.have.nested.property('cause.reason', 'task_revoked');
      });
      expect(fieldsOf(recorded, 'event', 'reason')).to.deep.equal([['token.denied', 'task_revoked']]);
    });

    it('openid-client sends a client_assertion beside the actor_token, and the service verifies both and marks them as used', async () => {
      const config = await discovered({ algorithm: 'oauth2' });
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
      const recorded = await mandate.recorded(async () => {
        const refusal = await openid.genericGrantRequest(config, EXCHANGE, alone).catch((error: unknown) => error);
        expect(refusal).to.be.instanceOf(openid.ResponseBodyError).and.include({
          error: 'invalid_request',
          error_description: 'The parameter actor_token is missing.',
        });
      });
      expect(recorded.map(({ event, reason }) => [event, reason])).to.deep.equal([['token.denied', 'invalid_request']]);
    });

    it('oauth4webapi exchanges, refreshes, introspects and revokes by the RFC 8414 metadata, and reads an error response', async () => {
      const insecure = { [oauth.allowInsecureRequests]: true };
      const issuer = new URL(mandate.issuer);
      const server = await oauth.processDiscoveryResponse(
        issuer,
        await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure }),
      );
      const key = await privateKey();
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

      const grant = issued.refresh_token ?? '';
      const refresh = async (scope: Readonly<Record<string, string>>) => {
        const options = { additionalParameters: { resource: JIRA, ...scope }, ...insecure };
        const answer = await oauth.refreshTokenGrantRequest(server, client, authentication, grant, options);
        return oauth.processRefreshTokenResponse(server, client, answer);
      };
      const renewed = await refresh({});
      expect(renewed.access_token).not.to.equal(issued.access_token);
      const recorded = await mandate.recorded(async () => {
        const refusal = await refresh({ scope: 'jira:admin' }).catch((error: unknown) => error);
        expect(refusal).to.be.instanceOf(oauth.ResponseBodyError).and.include({ error: 'invalid_scope', status: 400 });
      });
      expect(recorded.at(-1)).to.include({ event: 'token.denied', reason: 'scope_widened', agent_id: agent.id });

      const introspect = async () => {
        const { access_token } = renewed;
        const answer = await oauth.introspectionRequest(server, client, authentication, access_token, insecure);
        return oauth.processIntrospectionResponse(server, client, answer);
      };
      expect(await introspect()).to.deep.include({
        active: true,
        sub: 'ada',
        act: { sub: `agent:${agent.id}`, depth: 1 },
      });
      await oauth.processRevocationResponse(
        await oauth.revocationRequest(server, client, authentication, grant, insecure),
      );
      expect((await introspect()).active).to.equal(false);
    });

    it('jose verifies a task token with nothing but the metadata of the issuer', async () => {
      const issued = await agent.exchange();
      const metadata = await mandate.get(`${issuerPath}/.well-known/openid-configuration`);
      const keys = createRemoteJWKSet(new URL(String(metadata.body.jwks_uri)));
      const verified = await jwtVerify(String(issued.body.access_token), keys, {
        issuer: mandate.issuer,
        audience: JIRA,
        typ: 'at+jwt',
        algorithms: ['ES256'],
      });
      expect(verified.payload.sub).to.equal('ada');
      expect(verified.protectedHeader.kid).to.be.a('string');
    });
  });
}
