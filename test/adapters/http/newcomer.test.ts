/** Connections from which nothing has come that is to be served, on real ones: what becomes of them, and when. */

import { expect } from 'chai';
import { acceptConnections } from '../../../adapters/http/connections.ts';
import { type NewcomerLimits, welcome } from '../../../adapters/http/newcomer.ts';
import { rawConnection } from '../../support/raw-http.ts';

describe('A newcomer', () => {
  /**
   * What became of it, and after how many milliseconds.
   *
   * @param limits so far apart that it shows which of them it was, on a machine that is busy too
   */
  async function told(
    bytes: string,
    limits: NewcomerLimits,
  ): Promise<{ readonly what: string; readonly afterMs: number }> {
    let began = 0;
    let tell = (_what: string): void => undefined;
    const what = new Promise<string>((resolve) => {
      tell = resolve;
    });
    const connections = await acceptConnections({ host: '127.0.0.1', port: 0 }, (connection) => {
      began = performance.now();
      connection.once('close', () => tell('closed'));
      welcome(connection, limits, {
        turnAway: ({ url }) => url === '/refused' && connection.write('busy'),
        serve: (bytes) => tell(`served ${bytes}`),
        tooSlow: () => tell('too slow'),
      });
      connection.resume();
    });
    const client = await rawConnection(`http://127.0.0.1:${connections.address.port}`);
    client.send(bytes);
    const became = await what;
    const afterMs = performance.now() - began;
    client.leave();
    await connections.close();
    return { what: became, afterMs };
  }

  it('that says nothing is too slow after the time for that', async () => {
    const { what, afterMs } = await told('', { silenceMs: 60, keepAliveMs: 60_000 });
    expect(what).to.equal('too slow');
    expect(afterMs).to.be.within(58, 20_000);
  });

  it('that was refused may be silent for as long as was promised, and is closed then', async () => {
    const { what, afterMs } = await told('GET /refused HTTP/1.1\r\nHost: x\r\n\r\n', {
      ...{ silenceMs: 20_000, keepAliveMs: 240 },
    });
    expect(what).to.equal('closed');
    expect(afterMs).to.be.within(238, 10_000);
  });

  it('has what it said first handed on', async () => {
    expect((await told('GET /a', { silenceMs: 20_000, keepAliveMs: 240 })).what).to.equal('served GET /a');
  });
});
