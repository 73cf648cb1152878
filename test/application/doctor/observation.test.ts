import { expect } from 'chai';
import { observedNetwork } from '../../../application/doctor/observation.ts';
import { type Network, NetworkFailure, type NetworkRequest } from '../../../application/ports/network.ts';
import { plusSeconds } from '../../../domain/instant.ts';
import { NOON } from '../../support/domain-fixtures.ts';

const request: NetworkRequest = { method: 'GET', url: 'https://idp.example/a', timeoutMs: 5000, maxBytes: 10 };

function fixture(tookSeconds: number, date = NOON) {
  let now = NOON;
  const asked: number[] = [];
  const network: Network = {
    async send({ timeoutMs, url }) {
      asked.push(timeoutMs);
      now = plusSeconds(now, tookSeconds);
      if (url.endsWith('/down')) throw new NetworkFailure('No answer came.');
      return { status: url.endsWith('/b') ? 403 : 200, body: '', date };
    },
  };
  return { asked, observed: observedNetwork(network, { now: () => now }, 8000) };
}

describe('The network of doctor', () => {
  it('limits each request to the rest of the time for all requests', async () => {
    const { asked, observed } = fixture(3);
    for (let time = 0; time < 4; time += 1) await observed.send(request);
    expect(asked).to.deep.equal([5000, 5000, 2000, 1]);
  });

  it('returns the last status below a URL prefix, and no status of a failed request', async () => {
    const { observed } = fixture(0);
    await observed.send(request);
    await observed.send({ ...request, url: 'https://idp.example/users/b' });
    await observed.send({ ...request, url: 'https://idp.example/down' }).catch(() => undefined);
    expect(observed.lastStatus('https://idp.example/users')).to.equal(403);
    expect(observed.lastStatus('https://idp.example/a')).to.equal(200);
    expect(observed.lastStatus('https://idp.example/down')).to.equal(undefined);
    expect(observed.lastStatus('https://other.example')).to.equal(undefined);
  });

  // A date has whole seconds, and the server may set it at any time of the request.
  for (const [took, told, ahead] of [
    [0, 0, 0],
    [0, -0.9, 0],
    [2, 1, 0],
    [2, 30, 28],
    [2, -30, -29],
  ] as const) {
    it(`computes ${ahead} s as the lead of the server's clock from a date ${told} s ahead after a request of ${took} s`, async () => {
      const { observed } = fixture(took, plusSeconds(NOON, told));
      await observed.send(request);
      expect(observed.ahead('')).to.be.closeTo(ahead, 0.001);
    });
  }
});
