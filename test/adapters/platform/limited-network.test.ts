import { expect } from 'chai';
import { limitedNetwork } from '../../../adapters/platform/limited-network.ts';
import type { Network, NetworkRequest } from '../../../application/ports/network.ts';
import { plusSeconds } from '../../../domain/instant.ts';
import { NOON } from '../../support/domain-fixtures.ts';

const request: NetworkRequest = { method: 'GET', url: 'https://idp.example/a', timeoutMs: 5000, maxBytes: 10 };

describe('The limited network', () => {
  it('gives each request at most the time that is left of the common limit', async () => {
    let now = NOON;
    const asked: number[] = [];
    const network: Network = {
      async send({ timeoutMs }) {
        asked.push(timeoutMs);
        now = plusSeconds(now, 3);
        return { status: 200, body: '' };
      },
    };
    const limited = limitedNetwork(network, { now: () => now }, 8000);
    for (let time = 0; time < 4; time += 1) await limited.send(request);
    expect(asked).to.deep.equal([5000, 5000, 2000, 1]);
  });
});
