import { expect } from 'chai';
import { discovery } from '../../../adapters/identity-provider/discovery.ts';
import { httpNetwork } from '../../../adapters/platform/http-network.ts';
import type { Network } from '../../../application/ports/network.ts';
import { type CapturedLog, capturedLog } from '../../support/captured-log.ts';
import { answering, type Loopback, startLoopback } from '../../support/loopback.ts';

describe('discovery of a transmitter', () => {
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

  /** Publishes documents by path, and nothing elsewhere. */
  function publish(documents: Readonly<Record<string, unknown>>): void {
    server.answer = (request, response) => {
      const document = documents[request.path];
      answering(document ?? {}, document === undefined ? 404 : 200)(request, response);
    };
  }
  const of = (issuer: string, network: Network = httpNetwork()) =>
    discovery({ kind: 'transmitter', issuer }, network, log);
  const paths = () => server.received.map((request) => request.path);

  const inserted = '/.well-known/ssf-configuration/tenant-7';
  const appended = '/tenant-7/.well-known/ssf-configuration';
  const openid = '/tenant-7/.well-known/openid-configuration';

  for (const [at, path] of [inserted, appended, openid].entries()) {
    it(`finds the document at ${path}, after having looked at ${at} other places`, async () => {
      const issuer = `${server.url}/tenant-7`;
      publish({ [path]: { issuer, jwks_uri: `${server.url}/keys/${at}` } });
      expect(await of(issuer).current()).to.deep.equal({ issuer, jwksUri: `${server.url}/keys/${at}` });
      expect(paths()).to.deep.equal([inserted, appended, openid].slice(0, at + 1));
      expect(log.lines).to.deep.equal([]);
    });
  }

  it('looks once for an issuer without a path, where inserted and appended are one, and at the right place past a slash', async () => {
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

  it('passes over a document that is another’s or names no keys', async () => {
    const issuer = `${server.url}/tenant-7`;
    publish({
      [inserted]: { issuer: server.url, jwks_uri: `${server.url}/another` },
      [appended]: { issuer, delivery_methods_supported: [] },
      [openid]: { issuer, jwks_uri: `${server.url}/keys` },
    });
    expect((await of(issuer).current())?.jwksUri).to.equal(`${server.url}/keys`);
  });

  it('says once, for the first place, what was wrong', async () => {
    publish({});
    const metadata = of(server.url);
    await metadata.current();
    await metadata.current();
    expect(log.lines).to.have.length(1);
    expect(log.lines[0]).to.contain('transmitter').and.contain('404');
  });

  it('asks a host that does not answer no second time', async () => {
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
