/** How long clients may take and how many connections they may have, at the server itself, with shorter limits. */

import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { parseNetwork } from '../../../adapters/http/admission/network.ts';
import { peerSource } from '../../../adapters/http/admission/request-source.ts';
import { acceptConnections } from '../../../adapters/http/connections.ts';
import { type HttpServerOptions, httpServer, type TimeLimits } from '../../../adapters/http/server.ts';
import { type CapturedLog, capturedLog } from '../../support/captured-log.ts';
import { eventually } from '../../support/eventually.ts';
import { readAnswers, takeAnswers } from '../../support/hostile/raw-conversation.ts';

const SHORT: TimeLimits = { headMs: 150, requestMs: 400, takingMs: 300, calmMs: 10_000, lookingMs: 25 };
/** A byte as often, so that nothing is ever silent. */
const TRICKLE_MS = 20;

interface Running {
  readonly log: CapturedLog;
  /** The service's ends, in the order in which they came. */
  readonly taken: readonly Socket[];
  open(from?: string): Promise<Client>;
  stop(): Promise<void>;
}

interface Client {
  readonly socket: Socket;
  /** All that has come so far. */
  received(): string;
  /** What had come when the connection ended, and after how long. */
  readonly ended: Promise<{ readonly text: string; readonly afterMs: number }>;
}

async function start(handler: RequestListener, options: Partial<HttpServerOptions> = {}): Promise<Running> {
  const log = capturedLog();
  const server = httpServer(handler, { log, limits: SHORT, ...options });
  const taken: Socket[] = [];
  const connections = await acceptConnections({ host: '127.0.0.1', port: 0 }, (socket) => {
    taken.push(socket);
    server.take(socket);
  });
  return {
    ...{ log, taken },
    async open(from = '127.0.0.1') {
      const began = performance.now();
      const socket = connect({ ...connections.address, localAddress: from });
      let text = '';
      socket.on('data', (chunk) => {
        text += chunk.toString('latin1');
      });
      socket.on('error', () => undefined);
      const ended = once(socket, 'close').then(() => ({ text, afterMs: performance.now() - began }));
      await once(socket, 'connect');
      return { socket, received: () => text, ended };
    },
    async stop() {
      await connections.close();
      await server.stop(0);
    },
  };
}

async function trickle({ socket, ended }: Client, text: string): Promise<Awaited<Client['ended']>> {
  let sent = 0;
  const timer = setInterval(() => socket.write(text.charAt(sent++ % text.length)), TRICKLE_MS);
  const end = await ended;
  clearInterval(timer);
  return end;
}

describe('clients that are slow', () => {
  let running: Running;
  let begun = 0;
  const handled: string[] = [];
  before(async () => {
    running = await start((request, response) => {
      begun += 1;
      const chunks: string[] = [];
      request.setEncoding('latin1').on('data', (chunk: string) => chunks.push(chunk));
      request.on('end', () => {
        handled.push(request.url ?? '');
        response.end(request.url === '/large' ? 'x'.repeat(20_000_000) : chunks.join(''));
      });
      request.on('error', () => undefined);
    });
  });
  after(() => running.stop());

  /** Sends it on a new connection. One from which nothing has come in time, as the machine stood still, comes again. */
  async function coming(bytes: string): Promise<Client> {
    const before = begun;
    while (true) {
      const client = await running.open();
      client.socket.write(bytes);
      await eventually(() => begun > before || client.received() !== '' || client.socket.destroyed);
      if (begun > before) return client;
    }
  }

  const expectTooSlow = ({ text, afterMs }: Awaited<Client['ended']>, limitMs: number) => {
    const [answer, ...more] = readAnswers(text);
    expect(more).to.deep.equal([]);
    expect(answer?.status).to.equal(408);
    expect(answer?.headers.get('connection')).to.equal('close');
    // The usual limits are ten seconds and more.
    expect(afterMs).to.be.within(limitMs - 2, limitMs + 8_000);
  };

  it('with a head are told so and left', async () => {
    expectTooSlow(await trickle(await running.open(), 'GET / HTTP/1.1\r\nX: '.padEnd(500, 'x')), SHORT.headMs);
  });

  it('with the first byte as well', async () => {
    expectTooSlow(await (await running.open()).ended, SHORT.headMs);
  });

  it('with a second head on a connection that served before as well', async () => {
    const client = await coming('GET /first HTTP/1.1\r\nHost: x\r\n\r\n');
    const { text, afterMs } = await trickle(client, 'GET /second HTTP/1.1\r\nX: '.padEnd(500, 'x'));
    expect(readAnswers(text).map(({ status }) => status)).to.deep.equal([200, 408]);
    expect(afterMs).to.be.within(SHORT.headMs - 2, SHORT.headMs + 8_000);
  });

  for (const [what, framing, body] of [
    ['a body', 'Content-Length: 1000', 'x'],
    ['chunks', 'Transfer-Encoding: chunked', '1\r\nx\r\n'],
    ['chunk extensions', 'Transfer-Encoding: chunked', `1;${'x'.repeat(990)}`],
    ['trailers', 'Transfer-Encoding: chunked', `0\r\nX: ${'x'.repeat(990)}`],
  ] as const) {
    it(`with ${what} are told so and left, and nobody has acted on what there was`, async () => {
      const client = await coming(`POST /slow HTTP/1.1\r\nHost: x\r\n${framing}\r\n\r\n`);
      expectTooSlow(await trickle(client, body), SHORT.requestMs);
      expect(handled).not.to.include('/slow');
    });
  }

  it('to take their answer are left, however much they take of it now and then', async () => {
    const client = await coming('GET /first HTTP/1.1\r\nHost: x\r\n\r\n');
    client.socket.pause();
    client.socket.write('GET /large HTTP/1.1\r\nHost: x\r\n\r\n');
    const its = running.taken.at(-1);
    // Takes what fits into the buffers between the two of us, which then lets some more go out.
    for (let times = 0; its?.destroyed === false && times < 500; times += 1) {
      client.socket.read(1000);
      await pause(TRICKLE_MS);
    }
    client.socket.resume();
    const { text } = await client.ended;
    expect(text.length).to.be.within(1_000, 19_000_000);
  });

  it('may take as long as they like to come with another request', async () => {
    const client = await coming('GET /one HTTP/1.1\r\nHost: x\r\n\r\n');
    await eventually(() => takeAnswers(client.received()).answers.length === 1);
    await pause(SHORT.takingMs + 100);
    client.socket.write('GET /two HTTP/1.1\r\nHost: x\r\n\r\n');
    await eventually(() => takeAnswers(client.received()).answers.length === 2);
    await pause(SHORT.takingMs + 100);
    client.socket.end();
    expect(readAnswers((await client.ended).text).map(({ status }) => status)).to.deep.equal([200, 200]);
  });
});

describe('connections of one source', () => {
  const proxies = parseNetwork('127.0.0.3/32');
  if (typeof proxies === 'string') throw new Error(proxies);

  it('are limited, so that others come in; and those of a proxy of ours are not', async () => {
    const sources = { most: 3, sourceOf: peerSource([proxies]) };
    const running = await start((_request, response) => response.end('served'), {
      ...{ sources, limits: { ...SHORT, headMs: 10_000, requestMs: 10_000 } },
    });
    const served = async ({ socket, ended }: Client) => {
      socket.end('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
      return (await ended).text.endsWith('served');
    };
    const held = [await running.open(), await running.open(), await running.open()];
    const began = performance.now();
    expect((await (await running.open()).ended).text).to.equal('');
    expect((await (await running.open()).ended).text).to.equal('');
    expect(await served(await running.open('127.0.0.2'))).to.equal(true);
    for (let time = 0; time < 5; time += 1) held.push(await running.open('127.0.0.3'));
    expect(await served(await running.open('127.0.0.3'))).to.equal(true);
    held[0]?.socket.destroy();
    await eventually(() => running.taken[0]?.closed === true);
    expect(await served(await running.open())).to.equal(true);
    for (const { socket } of held) socket.destroy();
    await pause(1100);
    // Together, unless the machine stood still for a second between the two.
    expect(performance.now() - began).to.be.at.least(running.log.lines.length * 990);
    let closed = 0;
    for (const line of running.log.lines) {
      const { count, ...what } = JSON.parse(line);
      expect(what).to.deep.equal({
        ...{ level: 'warn', message: 'connections were not taken', reason: 'too_many_of_one_source' },
      });
      closed += count;
    }
    expect(closed).to.equal(2);
    await running.stop();
  });

  it('are counted by the network that an IPv6 address is in, and by the IPv4 address in it', () => {
    const sourceOf = peerSource([proxies]);
    expect(sourceOf('2001:db8::1')).to.equal(sourceOf('2001:db8::ffff:2'));
    expect(sourceOf('2001:db8::1')).not.to.equal(sourceOf('2001:db8:0:1::1'));
    expect(sourceOf('::ffff:192.0.2.1')).to.equal('192.0.2.1');
    expect(sourceOf('::ffff:127.0.0.3')).to.equal(undefined);
  });
});
