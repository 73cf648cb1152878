/** What `mandate doctor` finds at the identity provider, and at its user endpoint. */

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { NamedFinding } from '../../../application/doctor/examine.ts';
import { answering, startLoopback } from '../../support/loopback.ts';
import type { Examined, Settings } from './examined.ts';

export function testProvider(examined: Examined): void {
  const { expectOnly } = examined;
  const { examine, complaints, expectFinding } = examined.withoutDatabase;

  it('finds an identity provider whose issuer differs, that redirects, or that does not answer', async () => {
    const { provider } = examined;
    const skippedThen = (found: readonly NamedFinding[]) => found.filter(({ check }) => check.startsWith('provider'));
    const slash = await complaints({ 'Service:UpstreamIdp:Issuer': `${provider.issuer}/` });
    await expectOnly(skippedThen(slash), ['provider discovery', 'failed', /The document names another issuer\.$/]);

    const moved = await startLoopback((_request, response) => {
      response.writeHead(301, { location: provider.issuer }).end();
    });
    const redirected = await complaints({ 'Service:UpstreamIdp:Issuer': moved.url });
    await expectOnly(skippedThen(redirected), [
      'provider discovery',
      'failed',
      /301\. That is a redirect, and none is/,
    ]);
    await moved.close();
    const gone = await complaints({ 'Service:UpstreamIdp:Issuer': moved.url });
    await expectOnly(skippedThen(gone), ['provider discovery', 'failed', /There was no answer \(ECONNREFUSED\)\.$/]);
  });

  it('finds an issuer that no token can have: a template for several tenants, or text that is no URI', async () => {
    const { provider } = examined;
    const keys = { jwks_uri: `${provider.issuer}/jwks` };
    const template = { issuer: `${provider.issuer}/{tenantid}/v2.0`, ...keys };
    const server = await startLoopback(answering(template));
    const byUrl = {
      'Service:UpstreamIdp:Issuer': undefined,
      'Service:UpstreamIdp:MetadataUrl': `${server.url}/common/.well-known/openid-configuration`,
    };
    const discoveryBy = async (changes: Settings) =>
      (await examine(changes)).find(({ check }) => check === 'provider discovery');
    const found = await discoveryBy(byUrl);
    expect(found).to.include({ status: 'failed' });
    expect(found?.sentence).to.match(/no issuer, but a template for those of several tenants: no token has it/);
    expect(found?.remedy).to.include('MetadataUrl name the metadata of one tenant');
    const byIssuer = await discoveryBy({ 'Service:UpstreamIdp:Issuer': server.url });
    expect(byIssuer).to.include({ status: 'failed' });
    expect(byIssuer?.sentence).to.match(/no issuer, but a template for those of several tenants\.$/);
    expect(byIssuer?.remedy).to.match(/If the provider has several tenants, name one of them\.$/);
    server.answer = answering({ issuer: provider.issuer, access_token_issuer: 'https://idp.example ', ...keys });
    const noUri = await discoveryBy(byUrl);
    expect(noUri).to.include({ status: 'failed' });
    expect(noUri?.sentence).to.match(/an issuer that is no URI: no token can have it/);
    server.answer = answering({ issuer: provider.issuer, access_token_issuer: 'http://adfs.example/trust', ...keys });
    const adfs = await discoveryBy(byUrl);
    expect([adfs?.status, adfs?.sentence]).to.deep.equal([
      'ok',
      'Its metadata was read, and the issuer is the one that is expected. The iss of its access tokens is another: "http://adfs.example/trust".',
    ]);
    await server.close();
  });

  it('finds an identity provider that publishes no usable key', async () => {
    const other = await startLoopback((request, response) => {
      const endpoints = { authorization_endpoint: `${other.url}/a`, token_endpoint: `${other.url}/t` };
      const document = { issuer: other.url, jwks_uri: `${other.url}/keys`, ...endpoints };
      const keys = { keys: [{ kty: 'oct', k: 'c2VjcmV0' }] };
      answering(request.path === '/keys' ? keys : document)(request, response);
    });
    await expectFinding(
      { 'Service:UpstreamIdp:Issuer': other.url, 'Service:Me:ClientId': undefined },
      'provider keys',
      'failed',
      /No key of the set can be used\. keys\[0\] carries a private member, must be an EC key on P-256, /,
    );
    await other.close();
  });

  const directories: readonly (readonly [title: string, asked: { status: number; body: unknown }, RegExp, RegExp])[] = [
    ['may not read users', { status: 403, body: {} }, /status was 403/, /view-users/],
    [
      'finds a user with an unknown id',
      { status: 200, body: { enabled: true } },
      /finds a user with an unused id/,
      /UsersUrl/,
    ],
    [
      "gets Keycloak's 404 about an unknown path",
      { status: 404, body: { error: 'HTTP 404 Not Found' } },
      /status was 404, and its error is "HTTP 404 Not Found"/,
      /the path of the users/,
    ],
  ];

  for (const [title, asked, sentence, remedy] of directories) {
    it(`reports a client for the sponsor check that ${title}`, async () => {
      const { directory } = examined;
      directory.answer = answering(asked.body, asked.status);
      const found = await complaints();
      await expectOnly(found, ['sponsor check', 'failed', sentence]);
      expect(found[0]?.remedy).to.match(remedy);
    });
  }

  it('warns if the 404 for an unknown id looks like that for an unknown path, even if details in it vary', async () => {
    const { directory } = examined;
    for (const body of [
      () => ({ error: 'Not Found' }),
      (path: string) => ({ error: `Nothing is at ${path}`, timestamp: new Date().toISOString() }),
      () => ({ error: 'Not Found', request_id: randomUUID() }),
    ]) {
      directory.answer = (request, response) => answering(body(request.path), 404)(request, response);
      await expectOnly(await complaints(), ['sponsor check', 'warning', /SponsorCheck:UsersUrl/]);
    }
    directory.answer = (request, response) => {
      const [, , id = '', more] = request.path.split('/');
      answering({ error: more === undefined ? `There is no user ${id}.` : 'Not Found' }, 404)(request, response);
    };
    await expectOnly(await complaints());
  });

  it('finds a client for the sponsor check that gets no access token', async () => {
    const { directory } = examined;
    directory.answerToken = answering({}, 401);
    await expectFinding({}, 'sponsor check', 'failed', /no service token\. The token endpoint's status was 401/);
  });

  it("shows the provider's error, and names the settings of scope and audience", async () => {
    const { directory } = examined;
    directory.answerToken = answering({ error: 'invalid_scope\u202e', error_description: 'sesame' }, 400);
    const found = await complaints();
    await expectOnly(found, [
      'sponsor check',
      'failed',
      /^There is no service token\. The token endpoint's status was 400, and its error is "invalid_scope\\u\{202e\}"\.$/,
    ]);
    expect(found[0]?.remedy).to.include('SponsorCheck:Scope').and.include('ClientAssertionAudience');
  });
}
