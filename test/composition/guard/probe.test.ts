import { expect } from 'chai';
import { probe } from '../../../composition/guard/probe.ts';
import { freePort } from '../../../scripts/free-port.ts';
import { answering, loopbackForSuite, startLoopback } from '../../support/loopback.ts';

describe('The probe of an upstream', () => {
  const upstream = loopbackForSuite();
  const probed = (url: string) => probe(new URL(url));

  it('asks at the address without a token', async () => {
    await probed(`${upstream.url}/a`);
    expect(upstream.received.map(({ path, headers }) => [path, headers.authorization])).to.deep.equal([
      ['/a', undefined],
    ]);
  });

  it('warns of every answer but 401 and 403, and follows no redirect', async () => {
    upstream.answer = (_, response) => response.writeHead(302, { location: '/login' }).end();
    expect(await probed(upstream.url))
      .to.deep.include({ isOpen: true })
      .and.property('sentence')
      .to.include('with 302');
    for (const status of [401, 403]) {
      upstream.answer = answering({}, status);
      expect(await probed(upstream.url)).to.deep.equal({
        isOpen: false,
        sentence: `The address of --probe refuses a request without a token with ${status}.`,
      });
    }
  });

  it('does not warn of an address where nothing listens', async () => {
    expect(await probed(`http://127.0.0.1:${await freePort()}`)).to.deep.equal({
      isOpen: false,
      sentence: 'The address of --probe cannot be reached from here (ECONNREFUSED).',
    });
  });

  const unclear = (code: string) => ({
    isOpen: true,
    sentence: `The address of --probe gave no answer that tells (${code}): check it by hand.`,
  });

  it('warns of a server that closes the connection', async () => {
    upstream.answer = (_, response) => response.destroy();
    expect(await probed(upstream.url)).to.deep.equal(unclear('UND_ERR_SOCKET'));
  });

  it('warns of a server whose certificate it does not know', async () => {
    const secure = await startLoopback(answering({}, 200), { tls: true });
    try {
      expect(await probed(secure.url)).to.deep.equal(unclear('UNABLE_TO_VERIFY_LEAF_SIGNATURE'));
    } finally {
      await secure.close();
    }
  });
});
