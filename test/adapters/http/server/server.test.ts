/** What clients may do to their connections, and a stop that comes to an end whatever they did. */

import { once } from 'node:events';
import type { IncomingMessage, RequestListener } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import { readAnswers } from '../../../support/hostile/raw-conversation.ts';
import { serverWith } from '../../../support/http-server.ts';

const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
const CONNECT = 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n';

/** Much longer than the ten seconds that requests under way are given. */
const STOPPED_MS = 20_000;

async function start(handler: RequestListener) {
  const server = await serverWith(handler);
  return {
    async open(): Promise<Socket> {
      const socket = connect(server.address).on('error', () => undefined);
      await once(socket, 'connect');
      return socket;
    },
    stop: (lingerMs = 0) => server.stop(lingerMs),
  };
}

describe('a connection', () => {
  for (const [what, bytes] of [
    ['a request', GET],
    ['a CONNECT', CONNECT],
    ['a CONNECT behind a request', GET + CONNECT],
    ['what is no request', 'nonsense\r\n\r\n'],
  ] as const) {
    it(`that is reset after ${what}, at whatever moment, takes nobody else with it`, async () => {
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

  it('serves a hundred requests that were sent at once, one after the other, and ends for a client that sends more', async () => {
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
    const asked = async (times: number) => {
      const socket = await running.open();
      let text = '';
      socket.on('data', (chunk) => {
        text += chunk;
      });
      socket.write(GET.repeat(times - 1) + GET.replace('\r\n', '\r\nConnection: close\r\n'));
      await once(socket, 'close');
      return readAnswers(text).length;
    };
    expect(await asked(100)).to.equal(100);
    expect(await asked(2000)).to.equal(0);
    expect(begun).to.equal(101);
    await running.stop();
  });

  it('gets the answers that it is owed before its end, and ends at once for whoever sends on and on behind that', async () => {
    const running = await start((_request, response) => void setTimeout(() => response.end('served'), 300));
    const asked = async (more: number) => {
      const socket = await running.open();
      let text = '';
      socket.on('data', (chunk) => {
        text += chunk;
      });
      socket.write(`${GET}GET * HTTP/1.1\r\nHost: x\r\n\r\n${GET.repeat(more)}`);
      await once(socket, 'close');
      return readAnswers(text).map(({ status }) => status);
    };
    expect(await asked(10)).to.deep.equal([200, 400]);
    // Ended before the first could be answered.
    expect(await asked(1000)).to.deep.equal([]);
    await running.stop();
  });

  it('serves no pipelined request whose body can never come, and refuses it after the response before it', async () => {
    const begun: string[] = [];
    const running = await start((request, response) => {
      begun.push(request.url ?? '');
      request.resume().on('end', () => setTimeout(() => response.end('served'), 50));
    });
    const socket = await running.open();
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.write(`${GET}POST /broken HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nno size\r\n`);
    await once(socket, 'close');
    expect(readAnswers(text).map(({ status }) => status)).to.deep.equal([200, 400]);
    expect(begun).to.deep.equal(['/']);
    await running.stop();
  });

  it('refuses a pipelined request that breaks the protocol also where garbage follows it', async () => {
    const running = await start((_request, response) => void setTimeout(() => response.end('served'), 50));
    const socket = await running.open();
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.write(`${GET}GET /${'x'.repeat(9000)} HTTP/1.1\r\nHost: x\r\n\r\n${GET}nonsense\r\n\r\n`);
    await once(socket, 'close');
    expect(readAnswers(text).map(({ status }) => status)).to.deep.equal([200, 414]);
    await running.stop();
  });

  it('is served nothing behind the answer that says, for the service stops, that it is the last', async () => {
    const begun: string[] = [];
    const running = await start((request, response) => {
      begun.push(request.url ?? '');
      setTimeout(() => response.end('served'), 100);
    });
    const socket = await running.open();
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.write(GET);
    while (begun.length === 0) await pause(2);
    const stopped = running.stop();
    socket.write(GET.replace('/', '/last') + GET.replace('/', '/behind').repeat(20));
    await Promise.all([once(socket, 'close'), stopped]);
    expect(begun).to.deep.equal(['/', '/last']);
    expect(readAnswers(text).map(({ headers }) => headers.get('connection'))).to.deep.equal(['keep-alive', 'close']);
  });

  it('ends at once for a client that sends on and on behind the response that is the last', async () => {
    const begun: string[] = [];
    const running = await start((request) => void begun.push(request.url ?? ''));
    const socket = await running.open();
    socket.resume();
    const stopped = running.stop(STOPPED_MS);
    const began = performance.now();
    socket.write(GET.replace('/', '/last') + GET.replace('/', '/behind').repeat(100));
    while (begun.length === 0) await pause(2);
    await pause(50);
    // So many are ignored: one more ends the connection.
    expect(socket.closed).to.equal(false);
    socket.write(GET.replace('/', '/behind'));
    await Promise.all([once(socket, 'close'), stopped]);
    // The stop did not wait for the response.
    expect(performance.now() - began).to.be.lessThan(5_000);
    expect(begun).to.deep.equal(['/last']);
  });

  it('goes on to be accepted for a while after a stop was asked for, each response the last on it', async () => {
    const running = await start((_request, response) => response.end('served'));
    const kept = await running.open();
    const stopped = running.stop(STOPPED_MS);
    const other = await running.open();
    for (const socket of [kept, other]) {
      let text = '';
      socket.on('data', (chunk) => {
        text += chunk;
      });
      socket.write(GET);
      await once(socket, 'close');
      expect(readAnswers(text).map(({ headers }) => headers.get('connection'))).to.deep.equal(['close']);
    }
    await stopped;
  });

  it('holds nothing of what was answered on it', async () => {
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

  it('on which a CONNECT waits for an answer that does not come holds up no stop', async function () {
    this.timeout(2 * STOPPED_MS);
    const asked = { isSo: false };
    const running = await start(() => {
      asked.isSo = true;
    });
    const socket = await running.open();
    socket.write(GET + CONNECT);
    while (!asked.isSo) await pause(5);
    await pause(20);
    const stopped = running.stop().then(() => 'stopped');
    expect(await Promise.race([stopped, pause(STOPPED_MS, 'waits')])).to.equal('stopped');
    socket.destroy();
  });
});
