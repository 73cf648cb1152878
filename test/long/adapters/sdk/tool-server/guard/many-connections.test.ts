/** The guard keeps 10,000 connections. A further one is closed at once, and those that are open are served on. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { expect } from 'chai';
import { eventually } from '../../../../../support/eventually.ts';
import { proxyForEachTest } from '../../../../../support/tool-server/proxied-upstream.ts';

const MOST = 10_000;

/**
 * Opens the connections 250 at a time, and says when all are open. For each line that it reads, it sends a request on the next
 * one, and says the answer's first line. A separate process: with both ends in one, the limit of open files would be in doubt.
 * 511 connections wait at most until a busy guard accepts them. The kernel may tell a client of more that they are open.
 */
const CLIENTS = `
  const { connect } = require('node:net');
  const [port, count] = process.argv.slice(1).map(Number);
  const sockets = [];
  const open = () => new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket));
    socket.on('error', reject);
  });
  (async () => {
    while (sockets.length < count) sockets.push(...await Promise.all(Array.from({ length: 250 }, open)));
    console.log('open');
    let next = 0;
    for await (const _ of require('node:readline').createInterface({ input: process.stdin })) {
      const socket = sockets[next++];
      socket.once('data', (data) => console.log(String(data).split('\\r\\n', 1)[0]));
      socket.once('close', () => console.log('closed'));
      socket.write('GET /x HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n');
    }
    process.exit();
  })();
`;

describe('The guard with 10,000 open connections', function () {
  this.timeout(120_000);
  const proxy = proxyForEachTest();

  it('closes a further one at once, serves those that are open, and accepts one in place of one that ended', async () => {
    const url = new URL(await proxy.start((_, response) => void response.end('x'), { open: [] }));
    const port = Number(url.port);
    const clients = spawn(process.execPath, ['-e', CLIENTS, String(port), String(MOST)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    try {
      const lines = createInterface({ input: clients.stdout })[Symbol.asyncIterator]();
      const said = async () => (await lines.next()).value;
      expect(await said()).to.equal('open');
      for (let nth = 0; nth < 3; nth += 1) {
        const further = connect(port, '127.0.0.1').on('error', () => undefined);
        further.write('GET /x HTTP/1.1\r\nHost: x\r\n\r\n');
        let answered = '';
        further.on('data', (data) => {
          answered += data;
        });
        // A reset is an error first.
        await new Promise((resolve) => further.once('close', resolve));
        expect(answered).to.equal('');
        clients.stdin.write('\n');
        expect(await said()).to.equal('HTTP/1.1 401 Unauthorized');
      }
    } finally {
      clients.stdin.end();
      await once(clients, 'exit');
    }
    await eventually(async () => (await fetch(url).catch(() => undefined))?.status === 401);
  });
});
