/** Connections from which nothing has come that is to be served, on real ones: what becomes of them, and when. */

import { expect } from 'chai';
import { acceptConnections } from '../../../adapters/http/connections.ts';
import { welcome } from '../../../adapters/http/newcomer.ts';
import { rawConnection } from '../../support/raw-http.ts';

describe('A newcomer', () => {
  const LIMITS = { silenceMs: 60, keepAliveMs: 240 };

  /** What became of it, and after how many milliseconds. */
  async function told(bytes: string): Promise<{ readonly what: string; readonly afterMs: number }> {
    let began = 0;
    let tell = (_what: string): void => undefined;
    const what = new Promise<string>((resolve) => {
      tell = resolve;
    });
    const connections = await acceptConnections({ host: '127.0.0.1', port: 0 }, (connection) => {
      began = performance.now();
      connection.once('close', () => tell('closed'));
      welcome(connection, LIMITS, {
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
    const { what, afterMs } = await told('');
    expect(what).to.equal('too slow');
    expect(afterMs).to.be.within(LIMITS.silenceMs - 2, LIMITS.keepAliveMs);
  });

  it('that was refused may be silent for as long as was promised, and is closed then', async () => {
    const { what, afterMs } = await told('GET /refused HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(what).to.equal('closed');
    expect(afterMs).to.be.within(LIMITS.keepAliveMs - 2, LIMITS.keepAliveMs + 2_000);
  });

  it('has what it said first handed on', async () => {
    expect((await told('GET /a')).what).to.equal('served GET /a');
  });
});
