/**
 * Many clients that pipeline, read slowly and leave, before an upstream that ends its answers in every way: whole or not, with
 * or without a length, by an end or a reset. No client gets an answer to another, and the guard goes on.
 */

import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { rawConnection } from '../../../../../support/raw-http.ts';
import { proxyConfiguration, proxyForEachTest } from '../../../../../support/tool-server/proxied-upstream.ts';
import { rawRequest } from '../../../../../support/tool-server/raw-request.ts';

const CLIENTS = 20;
/** Of each client. */
const CONNECTIONS = 40;
const MAX_ANSWER = 3_000_000;
const MAX_BODY = 200_000;

const chance = (share: number) => Math.random() < share;
const upTo = (most: number) => Math.floor(Math.random() * most);

/** Names the target at the beginning of the body. */
function answer(socket: Socket, target: string): void {
  const body = `[${target}]`.padEnd(10 + upTo(MAX_ANSWER * Math.random() ** 2), '.');
  const version = chance(0.2) ? '1.0' : '1.1';
  const connection = chance(0.7) ? 'Connection: close\r\n' : '';
  const head = (framing: string) => `HTTP/${version} 200 OK\r\n${connection}${framing}\r\n`;
  const whole = [
    head('') + body,
    head(`Content-Length: ${body.length}\r\n`) + body,
    `${head('Transfer-Encoding: chunked\r\n')}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
  ][upTo(3)];
  socket.write(whole?.slice(0, chance(0.3) ? upTo(whole.length) : undefined) ?? '', () => {
    setTimeout(() => (chance(0.6) ? socket.end() : socket.resetAndDestroy()), upTo(20));
  });
}

describe('The proxy of the guard', function () {
  this.timeout(300_000);
  const proxy = proxyForEachTest();

  it('gives no client an answer to another one, and goes on, however clients and upstream end their connections', async () => {
    const origin = await proxy.upstreamOfBytes((socket) => {
      socket.once('data', (request) => answer(socket, String(request).split(' ')[1] ?? ''));
    });
    const url = await proxy.start(origin, { upstreamTimeoutMs: 2000 });
    const token = proxy.bearer().join(': ');
    const head = (method: string, target: string, framing: string) =>
      `${method} ${target} HTTP/1.1\r\nHost: x\r\n${token}\r\n${framing}\r\n`;
    let count = 0;
    let answered = 0;

    async function connectOnce(): Promise<void> {
      const client = await rawConnection(url);
      const targets = Array.from({ length: 1 + upTo(4) }, () => `/a${count++}`);
      for (const target of targets) {
        const body = 'x'.repeat(chance(0.3) ? upTo(MAX_BODY) : 0);
        const isLast = target === targets.at(-1);
        const framing = `${isLast ? 'Connection: close\r\n' : ''}Content-Length: ${body.length}\r\n`;
        client.send(head(body === '' ? 'GET' : 'POST', target, framing) + body);
      }
      if (chance(0.4)) {
        client.socket.pause();
        setTimeout(() => client.socket.resume(), upTo(200));
      }
      await Promise.race([client.until('never sent'), pause(chance(0.3) ? upTo(100) : 2000)]);
      client.leave();
      const seen = [...client.received().matchAll(/\[(\/a\d+)\]/g)].map(([, target]) => target ?? '');
      answered += seen.length;
      // In the order of the requests.
      expect(seen).to.deep.equal(targets.filter((target) => seen.includes(target)));
    }
    await Promise.all(
      Array.from({ length: CLIENTS }, async () => {
        for (let at = 0; at < CONNECTIONS; at += 1) await connectOnce();
      }),
    );
    expect(answered).to.be.above(CLIENTS * CONNECTIONS * 0.5);
    const other = await proxy.upstreamOf((_, response) => response.end('alive'));
    proxy.guard.reload(proxyConfiguration(proxy.issuer, other));
    expect((await rawRequest(`${url}/a`, 'GET', [proxy.bearer()])).body).to.equal('alive');
  });
});
