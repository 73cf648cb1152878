/** Hand-overs with published libraries alone, unmodified: an offer and its take-up, and a reader of a nested chain. */

import { expect } from 'chai';
import { createRemoteJWKSet, importJWK, jwtVerify } from 'jose';
import * as oauth from 'oauth4webapi';
import { sqliteFile } from '../../support/databases.ts';
import { delegationAt, heldTask, offerForm, takeUpForm } from '../../support/delegation.ts';
import {
  encodeForm,
  type Form,
  JIRA,
  type Mandate,
  type RegisteredAgent,
  startMandate,
} from '../../support/mandate.ts';

const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const INSECURE = { [oauth.allowInsecureRequests]: true };

describe('Hand-overs with unmodified libraries', () => {
  let mandate: Mandate;
  let root: RegisteredAgent;
  let lead: RegisteredAgent;
  let leaf: RegisteredAgent;
  before(async () => {
    const settings = { 'Service:Delegation:Enabled': 'true', 'Service:Delegation:MaxDepth': '3' };
    mandate = await startMandate({ database: sqliteFile, issuer: 'own-address', settings });
    const deep = { max_delegation_depth: 3, high_risk_audiences: [] };
    leaf = await mandate.agent(deep);
    lead = await mandate.agent({ ...deep, delegates_to: [leaf.id] });
    root = await mandate.agent({ ...deep, delegates_to: [lead.id] });
  });
  after(() => mandate.stop());

  it('oauth4webapi makes an offer, takes it up, and renews and revokes the task', async () => {
    const issuer = new URL(mandate.issuer);
    const found = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...INSECURE });
    const server = await oauth.processDiscoveryResponse(issuer, found);
    const clientOf = async (agent: RegisteredAgent) => {
      const key = await importJWK(agent.key.privateJwk, 'ES256');
      if (key instanceof Uint8Array) throw new Error('not a private key');
      const client = { client_id: agent.id };
      const authentication = oauth.PrivateKeyJwt({ key, kid: agent.key.kid });
      const exchange = async ({ grant_type, ...form }: Form, recognizedTokenTypes = {}) => {
        const answer = await oauth.genericTokenEndpointRequest(
          server,
          client,
          authentication,
          EXCHANGE,
          new URLSearchParams(encodeForm(form)),
          INSECURE,
        );
        return oauth.processGenericTokenEndpointResponse(server, client, answer, { recognizedTokenTypes });
      };
      return { client, authentication, exchange };
    };

    const [above, below] = [await clientOf(root), await clientOf(lead)];
    const first = await above.exchange(root.exchangeForm());
    // RFC 8693 §2.2.1: the client must say that it knows a token_type that is no access token's.
    const offer = await above.exchange(offerForm(root, lead.id, first.refresh_token ?? ''), { n_a: () => undefined });
    expect(offer).to.include({ token_type: 'n_a', expires_in: 60, scope: 'jira:read jira:comment' });
    const taken = await below.exchange(takeUpForm(lead, offer.access_token));
    expect(taken.token_type).to.equal('bearer');

    const { client, authentication } = below;
    const additionalParameters = { resource: JIRA };
    const renewal = await oauth.refreshTokenGrantRequest(server, client, authentication, taken.refresh_token ?? '', {
      additionalParameters,
      ...INSECURE,
    });
    const renewed = await oauth.processRefreshTokenResponse(server, client, renewal);
    const introspected = async () => {
      const answer = await oauth.introspectionRequest(server, client, authentication, renewed.access_token, INSECURE);
      return oauth.processIntrospectionResponse(server, client, answer);
    };
    expect(await introspected()).to.deep.include({
      active: true,
      sub: 'ada',
      act: { sub: `agent:${lead.id}`, depth: 2, act: { sub: `agent:${root.id}`, depth: 1 } },
    });
    await root.revoke(first.refresh_token ?? '');
    expect(await introspected()).to.deep.include({ active: false, revocation_reason: 'parent_revoked' });
  });

  it('jose reads a chain of three agents with nothing but the metadata of the issuer', async () => {
    const at = delegationAt(mandate);
    const started = heldTask(await root.exchange());
    const { token } = await at.handOver(lead, leaf, await at.handOver(root, lead, started));
    const metadata = await mandate.get('/.well-known/oauth-authorization-server');
    const keys = createRemoteJWKSet(new URL(String(metadata.body.jwks_uri)));
    const { payload } = await jwtVerify(token, keys, {
      issuer: mandate.issuer,
      audience: JIRA,
      typ: 'at+jwt',
      algorithms: ['ES256'],
    });
    expect([payload.sub, payload.act]).to.deep.equal([
      'ada',
      {
        sub: `agent:${leaf.id}`,
        depth: 3,
        act: { sub: `agent:${lead.id}`, depth: 2, act: { sub: `agent:${root.id}`, depth: 1 } },
      },
    ]);
    // RFC 8725 §3.11: an offer has another type, so a reader of access tokens refuses it.
    const offer = await at.offer(root, lead, started.grant);
    const asToken = jwtVerify(offer, keys, { typ: 'at+jwt' });
    expect(await asToken.catch((error: unknown) => error)).to.have.property('code', 'ERR_JWT_CLAIM_VALIDATION_FAILED');
  });
});
