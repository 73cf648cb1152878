/** Requests that may only reach public addresses. */

import { expect } from 'chai';
import { httpNetwork } from '../../../adapters/platform/http-network.ts';
import type { Network } from '../../../application/ports/network.ts';
import { answering, loopbackForSuite, startLoopback } from '../../support/loopback.ts';
import { failureOf, get } from '../../support/network-requests.ts';

describe('The network with publicOnly', () => {
  const server = loopbackForSuite(answering('{}'));
  let asked: string[];
  beforeEach(() => {
    asked = [];
  });

  /** Treats 127.0.0.1 as public. Each lookup returns the next of `answers`. */
  function networkOf(...answers: readonly (readonly string[])[]): Network {
    const left = [...answers];
    return httpNetwork({
      isPublic: (address) => address === '127.0.0.1',
      resolve: async (hostname) => {
        asked.push(hostname);
        return (left.shift() ?? []).map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
      },
    });
  }
  const publicOnly = (host: string) => get(`http://${host}:${new URL(server.url).port}/`, { publicOnly: true });
  const REFUSED = 'The host has an address that is not public.';

  it('connects to a host whose addresses are all public, and resolves it once', async () => {
    expect((await networkOf(['127.0.0.1', '127.0.0.1']).send(publicOnly('keys.example'))).status).to.equal(200);
    expect(asked).to.deep.equal(['keys.example']);
  });

  for (const [addresses, when] of [
    [['10.0.0.1'], 'has a private address'],
    [['127.0.0.1', '10.0.0.1'], 'has a public and then a private address'],
    [['10.0.0.1', '127.0.0.1'], 'has a private and then a public address'],
    [['127.0.0.1', 'fe80::1'], 'has a public IPv4 and a link-local IPv6 address'],
    [[], 'has no address'],
  ] as const) {
    it(`refuses a host that ${when}`, async () => {
      const failure = await failureOf(publicOnly('keys.example'), networkOf(addresses));
      expect([failure.message, failure.answered]).to.deep.equal([REFUSED, false]);
      expect(server.received).to.have.length(0);
    });
  }

  it('checks the addresses of a host for each request', async () => {
    const network = networkOf(['127.0.0.1'], ['10.0.0.1'], ['127.0.0.1']);
    expect((await network.send(publicOnly('keys.example'))).status).to.equal(200);
    expect((await failureOf(publicOnly('keys.example'), network)).message).to.equal(REFUSED);
    expect((await network.send(publicOnly('keys.example'))).status).to.equal(200);
    expect(asked).to.have.length(3);
  });

  it('does not reuse a connection of a request without publicOnly', async () => {
    const kept = await startLoopback(answering('{}'));
    const network = httpNetwork();
    expect((await network.send(get(kept.url))).status).to.equal(200);
    expect((await failureOf(get(kept.url, { publicOnly: true }), network)).message).to.equal(REFUSED);
    const named = kept.url.replace('127.0.0.1', 'localhost');
    expect((await network.send(get(named))).status).to.equal(200);
    expect((await failureOf(get(named, { publicOnly: true }), network)).message).to.equal(REFUSED);
    expect(kept.received).to.have.length(2);
    await kept.close();
  });

  it('reports a failed lookup by its code only', async () => {
    const network = httpNetwork({
      resolve: () => Promise.reject(Object.assign(new Error('secret'), { code: 'ENOTFOUND' })),
    });
    expect((await failureOf(publicOnly('keys.example'), network)).message).to.equal('There was no answer (ENOTFOUND).');
  });

  for (const host of [
    ...['127.0.0.1', '127.1', '0x7f.1', '0177.0.0.1', '2130706433', '0x7f000001', '127.0.0.1.', '①②⑦.0.0.1', '0'],
    ...['[::1]', '[::]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::127.0.0.1]', '[64:ff9b::127.0.0.1]'],
    ...['169.254.169.254', '[::ffff:169.254.169.254]', '[fd00:ec2::254]', '[2002:7f00:1::]', '10.1.2.3'],
    'localhost',
  ]) {
    it(`refuses the host ${host} with the real resolver`, async () => {
      expect((await failureOf(publicOnly(host), httpNetwork())).message).to.equal(REFUSED);
      expect(server.received).to.have.length(0);
    });
  }
});
