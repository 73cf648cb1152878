import { expect } from 'chai';
import { discovery, type ProviderLocation } from '../../../adapters/identity-provider/discovery.ts';
import { httpNetwork } from '../../../adapters/platform/http-network.ts';
import { type CapturedLog, capturedLog } from '../../support/captured-log.ts';
import { startIdentityProvider } from '../../support/identity-provider/identity-provider.ts';
import { answering, type Loopback, STATUSES_BESIDE_200, startLoopback, testAuthority } from '../../support/loopback.ts';

describe('discovery of the identity provider', () => {
  let server: Loopback;
  let log: CapturedLog;
  before(async () => {
    server = await startLoopback(answering({}));
  });
  beforeEach(() => {
    server.received.length = 0;
    log = capturedLog();
  });
  after(() => server.close());

  const by = (location: ProviderLocation) => discovery(location, httpNetwork(), log);
  const paths = () => server.received.map((request) => request.path);

  it('reads the document of a real provider', async () => {
    const provider = await startIdentityProvider();
    expect(await by({ kind: 'issuer', issuer: provider.issuer }).current()).to.deep.equal({
      issuer: provider.issuer,
      jwksUri: `${provider.issuer}/jwks`,
    });
    await provider.stop();
  });

  for (const [path, expected] of [
    ['', '/.well-known/openid-configuration'],
    ['/', '/.well-known/openid-configuration'],
    ['/realms/people', '/realms/people/.well-known/openid-configuration'],
    ['/realms/people/', '/realms/people/.well-known/openid-configuration'],
  ] as const) {
    it(`asks at ${expected} for an issuer whose path is "${path}" (OpenID Connect Discovery §4)`, async () => {
      const issuer = server.url + path;
      server.answer = answering({ issuer, jwks_uri: `${server.url}/keys` });
      expect((await by({ kind: 'issuer', issuer }).current())?.issuer).to.equal(issuer);
      expect(paths()).to.deep.equal([expected]);
    });
  }

  it('asks at a metadata URL as it is, and believes its issuer', async () => {
    server.answer = answering({ issuer: 'https://elsewhere.example/', jwks_uri: `${server.url}/keys` });
    expect(await by({ kind: 'metadata_url', url: `${server.url}/some/where?a=b` }).current()).to.deep.equal({
      issuer: 'https://elsewhere.example/',
      jwksUri: `${server.url}/keys`,
    });
    expect(paths()).to.deep.equal(['/some/where?a=b']);
  });

  it('reads once, and again only when told to; all who wait share one reading', async () => {
    server.answer = answering({ issuer: server.url, jwks_uri: `${server.url}/keys` });
    const metadata = by({ kind: 'issuer', issuer: server.url });
    await Promise.all([metadata.current(), metadata.refresh(), metadata.current()]);
    await metadata.current();
    expect(paths()).to.have.length(1);
    server.answer = answering({ issuer: server.url, jwks_uri: `${server.url}/new-keys` });
    expect((await metadata.refresh())?.jwksUri).to.equal(`${server.url}/new-keys`);
    expect((await metadata.current())?.jwksUri).to.equal(`${server.url}/new-keys`);
    expect(paths()).to.have.length(2);
  });

  it('keeps what it has when it can not be read anew', async () => {
    server.answer = answering({ issuer: server.url, jwks_uri: `${server.url}/keys` });
    const metadata = by({ kind: 'issuer', issuer: server.url });
    await metadata.current();
    server.answer = answering('down', 503);
    expect((await metadata.refresh())?.jwksUri).to.equal(`${server.url}/keys`);
    server.answer = answering({ issuer: 'https://evil.example', jwks_uri: 'https://evil.example/keys' });
    expect((await metadata.refresh())?.jwksUri).to.equal(`${server.url}/keys`);
  });

  const SECRET = 'something-nobody-should-read-in-a-log';
  for (const [title, answer] of [
    ['an error', answering({ secret: SECRET }, 500)],
    ['a redirect', (_, response) => response.writeHead(302, { location: `/${SECRET}` }).end()],
    ['no JSON', answering(SECRET)],
    ['a list', answering([SECRET])],
    ['a member twice', answering(`{"issuer":"${SECRET}","issuer":"${SECRET}"}`)],
    ['no issuer', answering({ jwks_uri: `https://${SECRET}.example/` })],
    ['an empty issuer', answering({ issuer: '', jwks_uri: `https://${SECRET}.example/` })],
    ['an issuer in a list', answering({ issuer: [SECRET], jwks_uri: `https://${SECRET}.example/` })],
    ['no jwks_uri', answering({ issuer: 'ISSUER' })],
    ['a relative jwks_uri', answering({ issuer: 'ISSUER', jwks_uri: `/${SECRET}` })],
    ['a jwks_uri of another scheme', answering({ issuer: 'ISSUER', jwks_uri: `file:///${SECRET}` })],
    ['a jwks_uri that is no text', answering({ issuer: 'ISSUER', jwks_uri: 7 })],
    ['more than 256 KiB', answering({ issuer: 'ISSUER', padding: SECRET.repeat(10_000) })],
    ['nothing', (_, response) => response.destroy()],
  ] satisfies [string, Loopback['answer']][]) {
    it(`knows nothing after ${title}, and says so once without what was read`, async () => {
      server.answer = answer;
      const metadata = by({ kind: 'metadata_url', url: `${server.url}/document` });
      expect(await metadata.current()).to.equal(undefined);
      expect(await metadata.current()).to.equal(undefined);
      expect(log.lines).to.have.length(1);
      expect(log.lines[0]).to.contain(new URL(server.url).host).and.not.contain(SECRET);
    });
  }

  for (const status of STATUSES_BESIDE_200) {
    it(`does not believe a good document that comes with the status ${status}`, async () => {
      server.answer = answering({ issuer: server.url, jwks_uri: `${server.url}/keys` }, status);
      expect(await by({ kind: 'issuer', issuer: server.url }).current()).to.equal(undefined);
      expect(server.received).to.have.length(1);
      expect(log.lines[0]).to.contain(`The answer's status was ${status}.`);
    });
  }

  for (const [title, issuer] of [
    ['another', 'https://evil.example'],
    ['one with a slash more', 'SAME/'],
    ['one in another case', 'UPPER'],
  ] as const) {
    it(`refuses the document of ${title} issuer than the one configured (§4.3)`, async () => {
      const said = issuer.replace('SAME', server.url).replace('UPPER', server.url.replace('http', 'HTTP'));
      server.answer = answering({ issuer: said, jwks_uri: `${server.url}/keys` });
      expect(await by({ kind: 'issuer', issuer: server.url }).current()).to.equal(undefined);
    });
  }

  it('refuses keys over http that a document over https points to', async () => {
    const secure = await startLoopback(answering({}), { tls: true });
    const metadata = discovery({ kind: 'issuer', issuer: secure.url }, httpNetwork({ ca: testAuthority }), log);
    secure.answer = answering({ issuer: secure.url, jwks_uri: `${server.url}/keys` });
    expect(await metadata.current()).to.equal(undefined);
    secure.answer = answering({ issuer: secure.url, jwks_uri: `${secure.url}/keys` });
    expect((await metadata.current())?.jwksUri).to.equal(`${secure.url}/keys`);
    await secure.close();
  });
});
