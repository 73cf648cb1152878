/** What is answered to requests that node has not read: what it says, and when it goes out. */

import { once } from 'node:events';
import type { Socket } from 'node:net';
import { expect } from 'chai';
import { acceptConnections } from '../../../adapters/http/connections.ts';
import { datedAnswers, type EarlyAnswer, sentTogether } from '../../../adapters/http/early-answers.ts';
import { rawConnection } from '../../support/raw-http.ts';

const REFUSAL: EarlyAnswer = { head: 'HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n', body: 'busy' };
const OTHER: EarlyAnswer = { head: 'HTTP/1.1 429 Too Many Requests\r\nContent-Length: 8\r\n', body: 'too fast' };

describe('An early answer', () => {
  it('has the date of its own second, though it is put together once for all in it', () => {
    let now = Date.UTC(2026, 10, 21, 23, 59, 58, 999);
    const bytesOf = datedAnswers(65, () => now);
    const dates = [0, 1, 999, 1].map((later) => {
      now += later;
      return /^Date: (.*)\r$/m.exec(bytesOf(REFUSAL).toString())?.[1];
    });
    const [last, next] = ['Sat, 21 Nov 2026 23:59:58 GMT', 'Sat, 21 Nov 2026 23:59:59 GMT'];
    expect(dates).to.deep.equal([last, next, next, 'Sun, 22 Nov 2026 00:00:00 GMT']);
    expect(bytesOf(OTHER).toString()).to.contain(OTHER.body);
  });
});

describe('Early answers that are sent together', () => {
  for (const [what, then, comes] of [
    ['goes out by itself', () => undefined, 'busy'],
    ['comes before what is written behind it', (connection: Socket) => connection.write(' then'), 'busy then'],
    ['comes before the end', (connection: Socket) => connection.end(), 'busy'],
    ['goes nowhere where the connection is gone', (connection: Socket) => connection.destroy(), ''],
  ] as const) {
    it(what, async () => {
      const send = sentTogether();
      const connections = await acceptConnections({ host: '127.0.0.1', port: 0 }, (connection) => {
        connection.resume();
        send(connection, Buffer.from('busy'));
        expect(connection.writableLength).to.equal(4);
        then(connection);
        setTimeout(() => connection.end(), 50);
      });
      const client = await rawConnection(`http://127.0.0.1:${connections.address.port}`);
      await once(client.socket, 'close');
      expect(client.received()).to.equal(comes);
      await connections.close();
    });
  }
});
