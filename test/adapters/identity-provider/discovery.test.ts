import { expect } from 'chai';
import { discovery, type ProviderLocation } from '../../../adapters/identity-provider/discovery.ts';
import { httpNetwork } from '../../../adapters/platform/http-network.ts';
import type { Network } from '../../../application/ports/network.ts';
import { type CapturedLog, capturedLog } from '../../support/captured-log.ts';
import { aTrace } from '../../support/domain-fixtures.ts';
import { startIdentityProvider } from '../../support/identity-provider/identity-provider.ts';
import {
  answering,
  type Loopback,
  loopbackForSuite,
  STATUSES_WITHOUT_DOCUMENT,
  startLoopback,
  testTrust,
} from '../../support/loopback.ts';

/** As of AD FS. */
const TRUST = 'http://adfs.example/adfs/services/trust';

describe('Discovery', () => {
  const server = loopbackForSuite();
  let log: CapturedLog;
  beforeEach(() => {
    log = capturedLog();
  });

  const by = (location: ProviderLocation) => discovery(location, httpNetwork(), log);
  const paths = () => server.received.map((request) => request.path);

  it('reads the metadata of a real identity provider', async () => {
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
    it(`requests ${expected} for an issuer with the path "${path}" (OpenID Connect Discovery §4)`, async () => {
      const issuer = server.url + path;
      server.answer = answering({ issuer, jwks_uri: `${server.url}/keys` });
      expect((await by({ kind: 'issuer', issuer }).current())?.issuer).to.equal(issuer);
      expect(paths()).to.deep.equal([expected]);
    });
  }

  it('requests a metadata URL unchanged, and accepts its issuer', async () => {
    server.answer = answering({ issuer: 'https://elsewhere.example/', jwks_uri: `${server.url}/keys` });
    expect(await by({ kind: 'metadata_url', url: `${server.url}/some/where?a=b` }).current()).to.deep.equal({
      issuer: 'https://elsewhere.example/',
      jwksUri: `${server.url}/keys`,
    });
    expect(paths()).to.deep.equal(['/some/where?a=b']);
  });

  it('reads the metadata once for concurrent callers, and again only on refresh', async () => {
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

  it('reads the metadata once for concurrent callers, with the trace of the first, which the log lines carry', async () => {
    server.answer = answering({}, 500);
    const metadata = by({ kind: 'issuer', issuer: server.url });
    await Promise.all([metadata.current(aTrace), metadata.current(), metadata.refresh()]);
    expect(server.received.map(({ headers }) => headers.traceparent)).to.deep.equal([
      `00-${aTrace.traceId}-${aTrace.spanId}-01`,
    ]);
    expect(log.lines.map((line) => JSON.parse(line).trace_id)).to.deep.equal([aTrace.traceId]);
  });

  it('logs an unforeseen error with the trace of the request', async () => {
    const network: Network = { send: () => Promise.reject(new RangeError('a bug')) };
    await discovery({ kind: 'issuer', issuer: server.url }, network, log).current(aTrace);
    const [bug] = log.lines.map((line) => JSON.parse(line));
    expect(bug).to.include({ level: 'error', cause: 'RangeError', trace_id: aTrace.traceId });
  });

  it('keeps its metadata when a refresh fails', async () => {
    server.answer = answering({ issuer: server.url, jwks_uri: `${server.url}/keys` });
    const metadata = by({ kind: 'issuer', issuer: server.url });
    await metadata.current();
    server.answer = answering('down', 503);
    expect((await metadata.refresh())?.jwksUri).to.equal(`${server.url}/keys`);
    server.answer = answering({ issuer: 'https://evil.example', jwks_uri: 'https://evil.example/keys' });
    expect((await metadata.refresh())?.jwksUri).to.equal(`${server.url}/keys`);
  });

  const SECRET = 'a-value-that-no-log-repeats';
  for (const [title, answer] of [
    ['an error', answering({ secret: SECRET }, 500)],
    ['a redirect', (_, response) => response.writeHead(302, { location: `/${SECRET}` }).end()],
    ['a body that is not JSON', answering(SECRET)],
    ['a list', answering([SECRET])],
    ['a repeated member', answering(`{"issuer":"${SECRET}","issuer":"${SECRET}"}`)],
    ['no issuer', answering({ jwks_uri: `https://${SECRET}.example/` })],
    ['an empty issuer', answering({ issuer: '', jwks_uri: `https://${SECRET}.example/` })],
    ['an issuer in a list', answering({ issuer: [SECRET], jwks_uri: `https://${SECRET}.example/` })],
    ['no jwks_uri', answering({ issuer: 'ISSUER' })],
    ['a relative jwks_uri', answering({ issuer: 'ISSUER', jwks_uri: `/${SECRET}` })],
    ['a jwks_uri of another scheme', answering({ issuer: 'ISSUER', jwks_uri: `file:///${SECRET}` })],
    ['a number as jwks_uri', answering({ issuer: 'ISSUER', jwks_uri: 7 })],
    [
      'an access_token_issuer in a list',
      answering({ issuer: 'ISSUER', jwks_uri: 'https://idp.example/', access_token_issuer: [SECRET] }),
    ],
    [
      'an empty access_token_issuer',
      answering({ issuer: 'ISSUER', jwks_uri: `https://${SECRET}.example/`, access_token_issuer: '' }),
    ],
    ['a body over 256 KiB', answering({ issuer: 'ISSUER', padding: SECRET.repeat(10_000) })],
    ['a cut connection', (_, response) => response.destroy()],
  ] satisfies [string, Loopback['answer']][]) {
    it(`returns nothing after ${title}, and logs that once without the answer`, async () => {
      server.answer = answer;
      const metadata = by({ kind: 'metadata_url', url: `${server.url}/document` });
      expect(await metadata.current()).to.equal(undefined);
      expect(await metadata.current()).to.equal(undefined);
      expect(log.lines).to.have.length(1);
      expect(log.lines[0]).to.contain(new URL(server.url).host).and.not.contain(SECRET);
    });
  }

  for (const status of STATUSES_WITHOUT_DOCUMENT) {
    it(`does not accept a good document with the status ${status}`, async () => {
      server.answer = answering({ issuer: server.url, jwks_uri: `${server.url}/keys` }, status);
      expect(await by({ kind: 'issuer', issuer: server.url }).current()).to.equal(undefined);
      expect(server.received).to.have.length(1);
      expect(log.lines[0]).to.contain(`The answer's status was ${status}.`);
    });
  }

  for (const [title, issuer] of [
    ['a different', 'https://evil.example'],
    ['a longer', 'SAME/'],
    ['a differently cased', 'UPPER'],
  ] as const) {
    it(`refuses a document with ${title} issuer (OpenID Connect Discovery §4.3)`, async () => {
      const said = issuer.replace('SAME', server.url).replace('UPPER', server.url.replace('http', 'HTTP'));
      server.answer = answering({ issuer: said, jwks_uri: `${server.url}/keys` });
      expect(await by({ kind: 'issuer', issuer: server.url }).current()).to.equal(undefined);
    });
  }

  it('reads the issuer of access tokens, if the document names another (AD FS)', async () => {
    const keys = { jwks_uri: `${server.url}/keys` };
    for (const [said, accessTokenIssuer] of [
      [TRUST, TRUST],
      [server.url, undefined],
      [null, undefined],
    ] as const) {
      server.answer = answering({ issuer: server.url, access_token_issuer: said, ...keys });
      const described = { issuer: server.url, jwksUri: keys.jwks_uri };
      for (const location of [
        { kind: 'issuer', issuer: server.url },
        { kind: 'metadata_url', url: `${server.url}/document` },
      ] as const) {
        expect(await by(location).current()).to.deep.equal({
          ...described,
          ...(accessTokenIssuer !== undefined && { accessTokenIssuer }),
        });
      }
      expect(await by({ kind: 'transmitter', issuer: server.url }).current()).to.deep.equal(described);
    }
    expect(log.lines.filter((one) => JSON.parse(one).level !== 'info')).to.deep.equal([]);
  });

  it('logs the issuer of access tokens when it is first read as another than the issuer, and after each change', async () => {
    const publish = (members: object) => {
      server.answer = answering({ issuer: server.url, jwks_uri: `${server.url}/keys`, ...members });
    };
    const metadata = by({ kind: 'issuer', issuer: server.url });
    const { host } = new URL(server.url);
    const message = 'Access tokens of the identity provider must have this issuer, by its metadata.';
    const line = (issuer: string) => ({ level: 'info', message, host, issuer });
    const told = async (members: object) => {
      publish(members);
      await metadata.refresh();
      await metadata.refresh();
      return log.lines.splice(0).map((one) => JSON.parse(one));
    };
    expect(await told({ access_token_issuer: TRUST })).to.deep.equal([line(TRUST)]);
    expect(await told({ access_token_issuer: `${TRUST}/moved` })).to.deep.equal([line(`${TRUST}/moved`)]);
    expect(await told({})).to.deep.equal([line(server.url)]);
    expect(await told({ access_token_issuer: server.url })).to.deep.equal([]);
  });

  it('logs once that no token can have the issuer, and again after a change to another such issuer', async () => {
    const template = 'https://login.example/{tenantid}/v2.0';
    const publish = (members: object) => {
      server.answer = answering({ issuer: server.url, jwks_uri: `${server.url}/keys`, ...members });
    };
    const metadata = by({ kind: 'metadata_url', url: `${server.url}/document` });
    publish({ issuer: template });
    expect((await metadata.refresh())?.issuer).to.equal(template);
    await metadata.refresh();
    const { host } = new URL(server.url);
    const line = { level: 'warn', message: "The identity provider's metadata names an issuer that no token can have." };
    const lines = () => log.lines.splice(0).map((one) => JSON.parse(one));
    expect(lines()).to.deep.equal([{ ...line, host, fault: 'template' }]);
    publish({ access_token_issuer: 'https://idp.example/ and more' });
    await metadata.refresh();
    await metadata.refresh();
    expect(lines()).to.deep.equal([{ ...line, host, fault: 'no_uri' }]);
    publish({});
    await metadata.refresh();
    const message = 'Access tokens of the identity provider must have this issuer, by its metadata.';
    expect(lines()).to.deep.equal([{ level: 'info', message, host, issuer: server.url }]);
  });

  it('says of a document of all tenants that its issuer is a template, if one issuer is expected', async () => {
    server.answer = answering({ issuer: 'https://login.example/{tenantid}/v2.0', jwks_uri: `${server.url}/keys` });
    expect(await by({ kind: 'issuer', issuer: server.url }).current()).to.equal(undefined);
    expect(log.lines).to.have.length(1);
    expect(JSON.parse(log.lines[0] ?? '').problem).to.match(
      /no issuer, but a template for those of several tenants\.$/,
    );
  });

  it('refuses a jwks_uri over http in a document over https', async () => {
    const secure = await startLoopback(answering({}), { tls: true });
    const metadata = discovery({ kind: 'issuer', issuer: secure.url }, httpNetwork({ secureContext: testTrust }), log);
    secure.answer = answering({ issuer: secure.url, jwks_uri: `${server.url}/keys` });
    expect(await metadata.current()).to.equal(undefined);
    secure.answer = answering({ issuer: secure.url, jwks_uri: `${secure.url}/keys` });
    expect((await metadata.current())?.jwksUri).to.equal(`${secure.url}/keys`);
    await secure.close();
  });

  describe('of a transmitter', () => {
    /** Publishes documents by path, and answers 404 elsewhere. */
    function publish(documents: Readonly<Record<string, unknown>>): void {
      server.answer = (request, response) => {
        const document = documents[request.path];
        answering(document ?? {}, document === undefined ? 404 : 200)(request, response);
      };
    }
    const of = (issuer: string, network: Network = httpNetwork()) =>
      discovery({ kind: 'transmitter', issuer }, network, log);

    const inserted = '/.well-known/ssf-configuration/tenant-7';
    const appended = '/tenant-7/.well-known/ssf-configuration';
    const openid = '/tenant-7/.well-known/openid-configuration';

    for (const [at, path] of [inserted, appended, openid].entries()) {
      it(`finds the document at ${path} after requests to ${at} other paths`, async () => {
        const issuer = `${server.url}/tenant-7`;
        publish({ [path]: { issuer, jwks_uri: `${server.url}/keys/${at}` } });
        expect(await of(issuer).current()).to.deep.equal({ issuer, jwksUri: `${server.url}/keys/${at}` });
        expect(paths()).to.deep.equal([inserted, appended, openid].slice(0, at + 1));
        expect(log.lines).to.deep.equal([]);
      });
    }

    it('requests each path once, also for an issuer without a path or with a slash at its end', async () => {
      for (const [issuer, expected] of [
        [server.url, ['/.well-known/ssf-configuration', '/.well-known/openid-configuration']],
        [`${server.url}/`, ['/.well-known/ssf-configuration', '/.well-known/openid-configuration']],
        [`${server.url}/tenant-7/`, [inserted, appended, openid]],
      ] as const) {
        server.received.length = 0;
        publish({});
        expect(await of(issuer).current()).to.equal(undefined);
        expect(paths()).to.deep.equal(expected);
      }
    });

    it('skips a document of another issuer or without a jwks_uri', async () => {
      const issuer = `${server.url}/tenant-7`;
      publish({
        [inserted]: { issuer: server.url, jwks_uri: `${server.url}/another` },
        [appended]: { issuer, delivery_methods_supported: [] },
        [openid]: { issuer, jwks_uri: `${server.url}/keys` },
      });
      expect((await of(issuer).current())?.jwksUri).to.equal(`${server.url}/keys`);
    });

    it('logs the problem of the first path once', async () => {
      publish({});
      const metadata = of(server.url);
      await metadata.current();
      await metadata.current();
      expect(log.lines).to.have.length(1);
      expect(log.lines[0]).to.contain('transmitter').and.contain('404');
    });

    it('sends no second request to a host that does not answer', async () => {
      const gone = await startLoopback(answering({}));
      await gone.close();
      let asked = 0;
      const network = httpNetwork();
      const counting: Network = {
        send: (request) => {
          asked += 1;
          return network.send(request);
        },
      };
      expect(await of(`${gone.url}/tenant-7`, counting).current()).to.equal(undefined);
      expect(asked).to.equal(1);
    });
  });
});
