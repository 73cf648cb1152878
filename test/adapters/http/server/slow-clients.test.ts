/** The time limits for slow clients, with the arguments of each program but shorter limits. */

import { once } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { eventually } from '../../../support/eventually.ts';
import { readAnswers, takeAnswers } from '../../../support/hostile/send-bytes.ts';
import { type ListeningProgram, PROGRAMS } from '../../../support/http-server.ts';

const SHORT = { headMs: 150, requestMs: 400, idleMs: 300, checkMs: 25 };
/** The pause between two bytes of a slow client. */
const TRICKLE_MS = 20;

/** Requests that a client begins, and does not finish. */
const CUT_OFF = {
  'a part of a head': 'GET /next HTT',
  'a part of a body': 'POST /next HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nfour',
  'a part of a chunk': 'POST /next HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nfour',
  'a head that awaits 100': 'POST /next HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n',
  'a malformed head and a part of a body': 'POST /next HTTP/1.1\r\nHost: a,b\r\nContent-Length: 9\r\n\r\nfour',
  'a CONNECT': 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n',
  'a CONNECT and bytes': `CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n${'x'.repeat(100_000)}`,
};

interface Running {
  open(): Promise<Client>;
  stop(): Promise<void>;
}

interface Client {
  readonly socket: Socket;
  /** The bytes received so far. */
  received(): string;
  /** The bytes received, and the time until the connection was closed. */
  readonly ended: Promise<{ readonly text: string; readonly afterMs: number }>;
}

async function start(program: ListeningProgram, handler: RequestListener): Promise<Running> {
  const server = await program.start(handler, { limits: SHORT });
  return {
    async open() {
      const began = performance.now();
      const socket = connect(server.address);
      let text = '';
      socket.on('data', (chunk) => {
        text += chunk.toString('latin1');
      });
      socket.on('error', () => undefined);
      const ended = once(socket, 'close').then(() => ({ text, afterMs: performance.now() - began }));
      await once(socket, 'connect');
      return { socket, received: () => text, ended };
    },
    stop: server.stop,
  };
}

async function trickle({ socket, ended }: Client, text: string): Promise<Awaited<Client['ended']>> {
  let sent = 0;
  const timer = setInterval(() => socket.write(text.charAt(sent++ % text.length)), TRICKLE_MS);
  const end = await ended;
  clearInterval(timer);
  return end;
}

for (const program of PROGRAMS)
  describe(`A slow client of ${program.name}`, () => {
    let running: Running;
    let begun = 0;
    const handled: string[] = [];
    const closed: string[] = [];
    /** The responses that stay open. */
    const silent: ServerResponse[] = [];
    before(async () => {
      running = await start(program, (request, response) => {
        begun += 1;
        const chunks: string[] = [];
        request.setEncoding('latin1').on('data', (chunk: string) => chunks.push(chunk));
        response.on('close', () => closed.push(request.url ?? ''));
        if (request.url === '/early') response.write('early');
        request.on('end', () => {
          handled.push(request.url ?? '');
          if (request.url === '/silent') silent.push(response.writeHead(200));
          else if (request.url === '/working') setTimeout(() => response.end('worked'), 2 * SHORT.idleMs);
          else response.end(request.url === '/large' ? 'x'.repeat(20_000_000) : chunks.join(''));
        });
        request.on('error', () => undefined);
      });
    });
    after(() => running.stop());

    /** Sends the bytes on a new connection, again if the machine was too slow to send them within the limit. */
    async function serving(bytes: string): Promise<Client> {
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
      // The upper bound is below the default limits, which are ten seconds or more.
      expect(afterMs).to.be.within(limitMs - 2, limitMs + 8_000);
    };

    it('gets 408 when its request head is not complete in time', async () => {
      expectTooSlow(await trickle(await running.open(), 'GET / HTTP/1.1\r\nX: '.padEnd(500, 'x')), SHORT.headMs);
    });

    it('gets 408 when its first byte does not arrive in time', async () => {
      let end: Awaited<Client['ended']>;
      // A machine that pauses finds both limits passed. The socket is then idle, and is closed without an answer.
      do end = await (await running.open()).ended;
      while (end.text === '' && end.afterMs >= SHORT.idleMs);
      expectTooSlow(end, SHORT.headMs);
    });

    it('gets 408 when the head of its second request is not complete in time', async () => {
      const client = await serving('GET /first HTTP/1.1\r\nHost: x\r\n\r\n');
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
      it(`gets 408 when its request does not end within the limit because of ${what}, and is not served`, async () => {
        const client = await serving(`POST /slow HTTP/1.1\r\nHost: x\r\n${framing}\r\n\r\n`);
        expectTooSlow(await trickle(client, body), SHORT.requestMs);
        expect(handled).not.to.include('/slow');
      });
    }

    it('is disconnected when it does not read its response', async () => {
      const client = await serving('GET /first HTTP/1.1\r\nHost: x\r\n\r\n');
      client.socket.pause();
      client.socket.write('GET /large HTTP/1.1\r\nHost: x\r\n\r\n');
      await eventually(() => closed.includes('/large'));
      client.socket.resume();
      const { text } = await client.ended;
      expect(text.length).to.be.within(1_000, 19_000_000);
    });

    it('is disconnected when it does not read its response and has sent a CONNECT after its request', async () => {
      const client = await serving('GET /first HTTP/1.1\r\nHost: x\r\n\r\n');
      client.socket.pause();
      const before = closed.filter((url) => url === '/large').length;
      client.socket.write('GET /large HTTP/1.1\r\nHost: x\r\n\r\nCONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n');
      await eventually(() => closed.filter((url) => url === '/large').length > before);
      client.socket.destroy();
    });

    it('stays connected while its response is silent, and is disconnected when it does not read what follows', async () => {
      const client = await serving('GET /silent HTTP/1.1\r\nHost: x\r\n\r\n');
      const response = silent.pop();
      response?.write('begun');
      await eventually(() => client.received().endsWith('begun\r\n'));
      for (const event of ['one', 'two']) {
        await pause(1.5 * SHORT.idleMs);
        response?.write(event);
        await eventually(() => client.received().includes(event));
      }
      client.socket.pause();
      response?.write('x'.repeat(20_000_000));
      await eventually(() => closed.includes('/silent'));
      client.socket.destroy();
    });

    it('is noticed when it leaves a silent response, although it has begun to send another request with a body', async () => {
      const client = await serving('GET /silent HTTP/1.1\r\nHost: x\r\n\r\n');
      silent.pop()?.write('begun');
      await eventually(() => client.received().endsWith('begun\r\n'));
      const before = closed.length;
      client.socket.write('POST /behind HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n');
      client.socket.write(Buffer.alloc(1_000_000), () => client.socket.destroy());
      await eventually(() => closed.length > before);
      expect(closed.slice(before)).to.deep.equal(['/silent']);
    });

    for (const [what, bytes] of Object.entries(CUT_OFF))
      it(`is noticed when it leaves a silent response after ${what}`, async () => {
        const client = await serving('GET /silent HTTP/1.1\r\nHost: x\r\n\r\n');
        silent.pop()?.write('begun');
        await eventually(() => client.received().endsWith('begun\r\n'));
        const before = closed.length;
        client.socket.end(bytes);
        await eventually(() => closed.length > before);
        expect(closed.slice(before)).to.deep.equal(['/silent']);
      });

    it('is noticed when it leaves in the middle of its request, whose response has begun', async () => {
      const client = await serving('POST /early HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nfour');
      await eventually(() => client.received().endsWith('early\r\n'));
      client.socket.end();
      await eventually(() => closed.includes('/early'));
    });

    it('stays connected while its request is processed', async () => {
      const client = await serving('GET /working HTTP/1.1\r\nHost: x\r\n\r\n');
      await eventually(() => client.received().endsWith('worked'));
      client.socket.destroy();
    });

    it('may keep an idle connection between two requests', async () => {
      const client = await serving('GET /one HTTP/1.1\r\nHost: x\r\n\r\n');
      await eventually(() => takeAnswers(client.received()).answers.length === 1);
      await pause(SHORT.idleMs + 100);
      client.socket.write('GET /two HTTP/1.1\r\nHost: x\r\n\r\n');
      await eventually(() => takeAnswers(client.received()).answers.length === 2);
      await pause(SHORT.idleMs + 100);
      client.socket.end();
      expect(readAnswers((await client.ended).text).map(({ status }) => status)).to.deep.equal([200, 200]);
    });
  });
