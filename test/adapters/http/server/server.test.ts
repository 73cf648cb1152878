/** Connections that clients reset, pipeline or flood, also while the server stops, with the arguments of each program. */

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, RequestListener } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import { capturedLog } from '../../../support/captured-log.ts';
import { eventually } from '../../../support/eventually.ts';
import { readAnswers } from '../../../support/hostile/send-bytes.ts';
import { PROGRAMS, type StartOptions, serverWith } from '../../../support/http-server.ts';

const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
const CONNECT = 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n';

/** The answers on the connection from now until it is closed. */
async function answersOn(socket: Socket): Promise<ReturnType<typeof readAnswers>> {
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  await once(socket, 'close');
  return readAnswers(text);
}

const statuses = (answers: ReturnType<typeof readAnswers>) => answers.map(({ status }) => status);
const connections = (answers: ReturnType<typeof readAnswers>) =>
  answers.map(({ headers }) => headers.get('connection'));

for (const { name, start: startProgram, refusals } of PROGRAMS)
  describe(`A connection of ${name}`, () => {
    async function start(handler: RequestListener, options?: StartOptions) {
      const server = await startProgram(handler, options);
      async function open(): Promise<Socket> {
        const socket = connect(server.address).on('error', () => undefined);
        await once(socket, 'connect');
        return socket;
      }
      return {
        ...server,
        open,
        /** Sends the bytes on a new connection, and returns all answers until the server closes it. */
        async answersTo(bytes: string) {
          const socket = await open();
          const answers = answersOn(socket);
          socket.write(bytes);
          return answers;
        },
      };
    }

    for (const [what, bytes] of [
      ['a request', GET],
      ['a CONNECT', CONNECT],
      ['a CONNECT behind a request', GET + CONNECT],
      ['a malformed request', 'nonsense\r\n\r\n'],
    ] as const) {
      it(`that a client resets after ${what} does not affect other connections`, async () => {
        const running = await start((_request, response) => void setTimeout(() => response.end('served'), 20));
        for (const afterMs of [0, 5, 40]) {
          const socket = await running.open();
          socket.write(bytes);
          await pause(afterMs);
          socket.resetAndDestroy();
          await pause(40);
        }
        const other = await running.open();
        other.write(GET);
        expect(String((await once(other, 'data'))[0])).to.match(/served$/);
        other.destroy();
        await running.stop();
      });
    }

    it('serves a hundred pipelined requests one after another, and is closed when a client sends many more', async () => {
      let begun = 0;
      let atOnce = 0;
      const running = await start((_request, response) => {
        begun += 1;
        atOnce += 1;
        expect(atOnce).to.equal(1);
        response.once('finish', () => {
          atOnce -= 1;
        });
        setTimeout(() => response.end('served'), 2);
      });
      const pipeline = (times: number) => GET.repeat(times - 1) + GET.replace('\r\n', '\r\nConnection: close\r\n');
      expect(await running.answersTo(pipeline(100))).to.have.length(100);
      expect(await running.answersTo(pipeline(2000))).to.have.length(0);
      expect(begun).to.equal(101);
      await running.stop();
    });

    it('gets the answers up to a refused request before the server closes it, and none when the client floods it', async () => {
      const running = await start((_request, response) => void setTimeout(() => response.end('served'), 300));
      const bytes = (more: number) => `${GET}GET / HTTP/1.1\r\nHost: a,b\r\n\r\n${GET.repeat(more)}`;
      expect(statuses(await running.answersTo(bytes(10)))).to.deep.equal([200, refusals.malformed]);
      // The server closes the connection before the first response.
      expect(await running.answersTo(bytes(1000))).to.deep.equal([]);
      await running.stop();
    });

    it('refuses a pipelined request with a malformed body after the previous response', async () => {
      const begun: string[] = [];
      const running = await start((request, response) => {
        begun.push(request.url ?? '');
        request.resume().on('end', () => setTimeout(() => response.end('served'), 50));
      });
      const broken = 'POST /broken HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nno size\r\n';
      expect(statuses(await running.answersTo(GET + broken))).to.deep.equal([200, 400]);
      expect(begun).to.deep.equal(['/']);
      await running.stop();
    });

    it('refuses a pipelined request with too many headers when malformed bytes follow it', async () => {
      const running = await start((_request, response) => void setTimeout(() => response.end('served'), 50));
      const many = `GET / HTTP/1.1\r\nHost: x\r\n${'a:\r\n'.repeat(100)}\r\n`;
      const answers = await running.answersTo(`${GET}${many}${GET}nonsense\r\n\r\n`);
      expect(statuses(answers)).to.deep.equal([200, refusals.tooManyHeaders]);
      await running.stop();
    });

    it('serves no request after the response with Connection: close during a stop', async () => {
      const begun: string[] = [];
      const running = await start((request, response) => {
        begun.push(request.url ?? '');
        setTimeout(() => response.end('served'), 100);
      });
      const socket = await running.open();
      const answers = answersOn(socket);
      socket.write(GET);
      while (begun.length === 0) await pause(2);
      const stopped = running.stop();
      socket.write(GET.replace('/', '/last') + GET.replace('/', '/behind').repeat(20));
      await stopped;
      expect(connections(await answers)).to.deep.equal(['keep-alive', 'close']);
      expect(begun).to.deep.equal(['/', '/last']);
    });

    it('is closed at once during a stop when the client floods it after its last request', async () => {
      const begun: string[] = [];
      const running = await start((request) => void begun.push(request.url ?? ''), { lingerMs: 500 });
      const socket = await running.open();
      socket.resume();
      const stopped = running.stop();
      const began = performance.now();
      socket.write(GET.replace('/', '/last') + GET.replace('/', '/behind').repeat(100));
      while (begun.length === 0) await pause(2);
      await pause(50);
      // The server has ignored these hundred requests. One more makes it close the connection.
      expect(socket.closed).to.equal(false);
      socket.write(GET.replace('/', '/behind'));
      await Promise.all([once(socket, 'close'), stopped]);
      // The stop did not wait for the response.
      expect(performance.now() - began).to.be.lessThan(5_000);
      expect(begun).to.deep.equal(['/last']);
    });

    it('is accepted and served once after a stop has begun, and then closed', async () => {
      const running = await start((_request, response) => response.end('served'), { lingerMs: 500 });
      const kept = await running.open();
      const stopped = running.stop();
      const other = await running.open();
      for (const socket of [kept, other]) {
        const answers = answersOn(socket);
        socket.write(GET);
        expect(connections(await answers)).to.deep.equal(['close']);
      }
      await stopped;
    });

    it('keeps no reference to an answered request', async () => {
      const answered: WeakRef<IncomingMessage>[] = [];
      const running = await start((request, response) => {
        answered.push(new WeakRef(request));
        response.end('served');
      });
      const socket = await running.open();
      for (let nth = 1; nth <= 2; nth += 1) {
        socket.write(GET);
        await once(socket, 'data');
        await pause(20);
      }
      setFlagsFromString('--expose-gc');
      for (let time = 0; time < 3; time += 1) {
        runInNewContext('gc()');
        await pause(5);
      }
      expect(answered.map((request) => request.deref()?.url)).to.deep.equal([undefined, undefined]);
      socket.destroy();
      await running.stop();
    });

    it('does not delay a stop if it has sent nothing, or an unanswered request before a CONNECT', async () => {
      let begun = 0;
      const unanswered = () => {
        begun += 1;
      };
      const running = await start(unanswered, { limits: { drainMs: 500 } });
      const [silent, socket] = [await running.open(), await running.open()];
      socket.write(GET + CONNECT);
      await eventually(() => begun === 1);
      const began = performance.now();
      await Promise.all([once(silent, 'close'), running.stop()]);
      expect(performance.now() - began).to.be.below(5_000);
      socket.destroy();
    });
  });

describe('The server', () => {
  it('does not say that a client broke the protocol if it leaves in place of the rest of a body that was answered', async () => {
    const log = capturedLog();
    const server = await serverWith((request, response) => request.resume() && response.writeHead(401).end(), { log });
    const begin = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\nbegin';
    for (const bytes of [begin, 'nonsense\r\n\r\n']) {
      const socket = connect(server.address);
      socket.write(bytes);
      await once(socket, 'data');
      socket.end();
      await once(socket, 'close');
    }
    await eventually(() => log.lines.length > 0);
    expect(log.lines.map((line) => JSON.parse(line))).to.deep.equal([
      { level: 'warn', message: 'a client broke the protocol', reason: 'malformed', count: 1 },
    ]);
    await server.stop(0);
  });
});

describe('The guard', () => {
  const guard = PROGRAMS.find(({ name }) => name === 'the guard') ?? expect.fail();

  it('accepts connections for a while after a stop has begun, although none was open', async () => {
    const server = await guard.start((_request, response) => response.end('served'), { lingerMs: 300 });
    const stopped = server.stop();
    await pause(100);
    const socket = connect(server.address);
    const answers = answersOn(socket);
    socket.write(GET);
    expect(connections(await answers)).to.deep.equal(['close']);
    await stopped;
    const [{ code }] = await once(connect(server.address), 'error');
    expect(code).to.equal('ECONNREFUSED');
  });

  it('lets the system ask after a minute whether the client of a silent connection is still there', async function () {
    // Only Linux shows the timers of connections.
    if (process.platform !== 'linux') this.skip();
    const server = await guard.start((_request, response) => response.end('served'));
    const socket = connect(server.address);
    socket.write(GET);
    await once(socket, 'data');
    const local = `0100007F:${server.address.port.toString(16).toUpperCase().padStart(4, '0')}`;
    const timer = () => {
      const fields = readFileSync('/proc/net/tcp', 'latin1')
        .split('\n')
        .map((line) => line.trim().split(/\s+/));
      // Local address, state (established), and the kind and the rest of its timer (keep-alive, hundredths of a second).
      return fields.find(([, at, , state]) => at === local && state === '01')?.[5]?.split(':') ?? [];
    };
    await eventually(() => timer()[0] === '02');
    expect(Number.parseInt(timer()[1] ?? '', 16)).to.be.at.most(6000);
    socket.destroy();
    await server.stop();
  });
});
