/** Bodies through the proxy: they stream both ways, and an upstream's fault has one answer and one error. */

import { once } from 'node:events';
import { type ClientRequest, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { mock } from 'node:test';
import { expect } from 'chai';
import { eventually } from '../../../../support/eventually.ts';
import { sendBytes } from '../../../../support/hostile/send-bytes.ts';
import { byLength } from '../../../../support/length.ts';
import { rawConnection } from '../../../../support/raw-http.ts';
import { proxyForEachTest } from '../../../../support/tool-server/proxied-upstream.ts';
import { rawRequest } from '../../../../support/tool-server/raw-request.ts';

const MIB = 1024 * 1024;
const LARGE = byLength({ short: 64, full: 100 }) * MIB;
const CHUNK = Buffer.alloc(MIB / 4, 'x');
/** What sockets, streams and the system may hold of a body, on both sides of the guard. */
const MAX_BUFFERED = 32 * MIB;

describe('The proxy of the guard', () => {
  const proxy = proxyForEachTest();
  const { errors, bearer, decided } = proxy;

  const authorized = () => Object.fromEntries([bearer()]);
  function open(url: string, method: string, headers = {}): ClientRequest {
    return httpRequest(url, { method, agent: false, headers: { ...authorized(), ...headers } });
  }
  async function answerOf(sent: ClientRequest): Promise<IncomingMessage> {
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    return answer;
  }
  async function textOf(answer: IncomingMessage): Promise<string> {
    let text = '';
    for await (const chunk of answer.setEncoding('utf8')) text += chunk;
    return text;
  }
  /** The count when it has stopped to rise. */
  async function settled(count: () => number): Promise<number> {
    let last = -1;
    await eventually(() => {
      const isSame = last === count() && last > 0;
      last = count();
      return isSame;
    }, 250);
    return last;
  }

  describe('towards the client', () => {
    it('sends the head and each event of a stream at once, and ends the upstream’s answer when the client leaves', async () => {
      let stream: ServerResponse | undefined;
      let isLeft = false;
      const url = await proxy.start((_, response) => {
        stream = response;
        response.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders();
        response.once('close', () => {
          isLeft = true;
        });
      });
      const sent = open(`${url}/events`, 'GET');
      sent.end();
      const answer = await answerOf(sent);
      expect(answer.headers['content-type']).to.equal('text/event-stream');
      for (const data of ['one', 'two', 'three']) {
        stream?.write(`data: ${data}\n\n`);
        const [chunk] = await once(answer, 'data');
        expect(String(chunk)).to.equal(`data: ${data}\n\n`);
      }
      expect(isLeft).to.equal(false);
      answer.on('error', () => undefined).destroy();
      await eventually(() => isLeft);
      expect(errors).to.deep.equal([]);
      expect(decided()).to.deep.equal([['GET /*', 'allow', null]]);
    });

    it('answers requests while streams of other clients are open', async () => {
      const url = await proxy.start(({ url: target }, response) => {
        if (target === '/stream') response.write('begun');
        else response.end('answered');
      });
      const streams = await Promise.all(
        Array.from({ length: 3 }, () => {
          const sent = open(`${url}/stream`, 'GET').on('error', () => undefined);
          sent.end();
          return answerOf(sent);
        }),
      );
      for (const path of ['/a', '/b', '/c', '/d']) {
        expect((await rawRequest(`${url}${path}`, 'GET', [bearer()])).body).to.equal('answered');
      }
      for (const stream of streams) stream.on('error', () => undefined).destroy();
    });

    it('keeps an interim answer of the upstream to itself', async () => {
      const origin = await proxy.upstreamOfBytes((socket) => {
        const interim = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n';
        socket.once('data', () => socket.end(`${interim}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok`));
      });
      const answer = await rawRequest(`${await proxy.start(origin)}/a`, 'GET', [bearer()]);
      expect([answer.status, answer.body, answer.headers.link]).to.deep.equal([200, 'ok', undefined]);
    });

    for (const [status, isKept] of [
      ['204 No Content', false],
      ['304 Not Modified', true],
    ] as const) {
      it(`has no body with ${status}, and gives no later request the bytes behind it`, async () => {
        let asked = 0;
        const origin = await proxy.upstreamOfBytes((socket) => {
          const other = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nother';
          const head = `HTTP/1.1 ${status}\r\nContent-Length: ${other.length}\r\n\r\n`;
          socket.once('data', () => {
            asked += 1;
            socket.write(asked === 1 ? head + other : 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nown');
          });
        });
        const client = await rawConnection(await proxy.start(origin));
        const head = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n${bearer().join(': ')}\r\n\r\n`;
        client.send(head('/a'));
        const first = await client.until('\r\n\r\n');
        expect(first.split('\r\n')[0]).to.equal(`HTTP/1.1 ${status}`);
        // RFC 9110 §8.6: it says how long the body of a 200 would be.
        expect(/content-length/i.test(first)).to.equal(isKept);
        client.send(head('/b'));
        expect((await client.until('own')).slice(first.length)).to.match(/^HTTP\/1\.1 200 .*\r\n\r\nown$/s);
        expect(errors).to.deep.equal([]);
        client.leave();
      });
    }

    for (const [method, head] of [
      ['HEAD', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n'],
      ['GET', 'HTTP/1.1 204 No Content\r\n\r\n'],
      ['GET', 'HTTP/1.1 304 Not Modified\r\n\r\n'],
    ] as const) {
      it(`sends no request behind a ${method} that got ${head.slice(9, 12)}, whose body can still come`, async () => {
        const origin = await proxy.upstreamOfBytes((socket) => {
          let asked = 0;
          socket.on('data', (bytes) => {
            asked += 1;
            const isFirst = String(bytes).includes(' /first ');
            const body = asked === 1 ? 'own' : 'other';
            socket.write(isFirst ? head : `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
          });
        });
        const url = await proxy.start(origin);
        expect((await rawRequest(`${url}/first`, method, [bearer()])).body).to.equal('');
        expect((await rawRequest(`${url}/second`, 'GET', [bearer()])).body).to.equal('own');
        expect(errors).to.deep.equal([]);
      });
    }

    it('sends no request on a connection that got bytes after an answer', async () => {
      const sockets: Socket[] = [];
      const origin = await proxy.upstreamOfBytes((socket) => {
        sockets.push(socket.setNoDelay());
        socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nown'));
      });
      const url = await proxy.start(origin);
      const ask = async () => (await rawRequest(`${url}/a`, 'GET', [bearer()])).body;
      expect([await ask(), await ask(), sockets.length]).to.deep.equal(['own', 'own', 1]);
      await new Promise((sent) => sockets[0]?.write('HTTP/1.1 200 O', sent));
      expect([await ask(), sockets.length]).to.deep.equal(['own', 2]);
      expect(errors).to.deep.equal([]);
    });

    it('ends the request of a client that leaves before the head', async () => {
      let isAsked = false;
      let isLeft = false;
      const url = await proxy.start((_, response) => {
        isAsked = true;
        response.once('close', () => {
          isLeft = true;
        });
      });
      const sent = open(`${url}/late`, 'GET').on('error', () => undefined);
      sent.end();
      await eventually(() => isAsked);
      sent.destroy();
      await eventually(() => isLeft);
      expect(errors).to.deep.equal([]);
    });

    it('asks nothing for a client that leaves before the decision', async () => {
      let isAsked = false;
      let answerKeys: (() => void) | undefined;
      proxy.plane.answerKeys = (_, response) => {
        answerKeys = () => response.end(JSON.stringify({ keys: proxy.plane.published.map((key) => key.publicJwk) }));
      };
      const url = await proxy.start(() => {
        isAsked = true;
      });
      const client = await rawConnection(url);
      client.send(`GET /stream HTTP/1.1\r\nHost: x\r\n${bearer().join(': ')}\r\n\r\n`);
      await eventually(() => answerKeys !== undefined);
      client.leave();
      // The guard notices it before this answer, which needs no key.
      expect((await rawRequest(`${url}/a`, 'GET', [])).status).to.equal(401);
      proxy.events.length = 0;
      answerKeys?.();
      await eventually(() => decided().length === 1);
      // It would wait for a request that no one ends.
      await proxy.stop();
      expect([isAsked, decided(), errors]).to.deep.equal([false, [['GET /*', 'allow', null]], []]);
    });

    it('asks for the answer to a pipelined request only after the answer to the one before it', async () => {
      const lines: string[] = [];
      let answer: (() => void) | undefined;
      const url = await proxy.start(({ method }, response) => {
        lines.push(`${method} begun`);
        const end = () => {
          lines.push(`${method} answered`);
          response.end();
        };
        if (method === 'POST') answer = end;
        else end();
      });
      const client = await rawConnection(url);
      const head = (method: string) =>
        `${method} /a HTTP/1.1\r\nHost: x\r\n${bearer().join(': ')}\r\nContent-Length: 0\r\n\r\n`;
      client.send(head('POST') + head('DELETE'));
      await eventually(() => answer !== undefined);
      // Another client shows that the guard has had the time for the DELETE.
      await rawRequest(`${url}/b`, 'GET', [bearer()]);
      answer?.();
      await eventually(() => client.received().split('HTTP/1.1 200 OK').length === 3);
      const own = lines.filter((line) => !line.startsWith('GET'));
      expect(own).to.deep.equal(['POST begun', 'POST answered', 'DELETE begun', 'DELETE answered']);
      client.leave();
    });

    it('reads the answer only as fast as the client does', async () => {
      let written = 0;
      const url = await proxy.start(async (_, response) => {
        for (; written < LARGE; written += CHUNK.length) {
          if (!response.write(CHUNK)) await once(response, 'drain');
        }
        response.end();
      });
      const sent = open(`${url}/large`, 'GET');
      sent.end();
      const answer = await answerOf(sent);
      // The rest waits at the upstream.
      expect(await settled(() => written)).to.be.below(MAX_BUFFERED);
      let received = 0;
      for await (const chunk of answer) received += (chunk as Buffer).length;
      expect(received).to.equal(LARGE);
    });
  });

  describe('towards the upstream', () => {
    for (const [what, headers] of [
      ['with a length', { 'Content-Length': String(LARGE) }],
      ['in chunks', { 'Transfer-Encoding': 'chunked' }],
    ] as const) {
      it(`streams an upload ${what} only as fast as the upstream reads it`, async () => {
        let received = 0;
        let framing: unknown;
        let read: (() => void) | undefined;
        const url = await proxy.start(async (request, response) => {
          framing = [request.headers['content-length'], request.headers['transfer-encoding']];
          await new Promise<void>((resolve) => {
            read = resolve;
          });
          for await (const chunk of request) received += (chunk as Buffer).length;
          response.end(String(received));
        });
        let written = 0;
        const sent = open(`${url}/upload`, 'PUT', headers);
        const uploading = (async () => {
          for (; written < LARGE; written += CHUNK.length) if (!sent.write(CHUNK)) await once(sent, 'drain');
          sent.end();
        })();
        // The rest waits at the client.
        expect(await settled(() => written)).to.be.below(MAX_BUFFERED);
        read?.();
        await uploading;
        expect(await textOf(await answerOf(sent))).to.equal(String(LARGE));
        expect(framing).to.deep.equal(
          'Content-Length' in headers ? [String(LARGE), undefined] : [undefined, 'chunked'],
        );
      });
    }

    for (const method of ['GET', 'DELETE', 'POST']) {
      it(`passes the body of a ${method} on, and none where there is none`, async () => {
        const bodies: unknown[] = [];
        const url = await proxy.start(async (request, response) => {
          const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
          bodies.push([await textOf(request), length ?? coding ?? null]);
          response.end();
        });
        for (const [body, headers] of [
          ['', {}],
          ['', { 'Content-Length': '0' }],
          ['four', { 'Content-Length': '4' }],
          ['four', { 'Transfer-Encoding': 'chunked' }],
        ] as const) {
          const sent = open(`${url}/a`, method, headers);
          sent.end(body);
          expect((await answerOf(sent)).resume().statusCode).to.equal(200);
        }
        expect(bodies).to.deep.equal([
          ['', method === 'POST' ? '0' : null],
          ['', '0'],
          ['four', '4'],
          ['four', 'chunked'],
        ]);
      });
    }

    it('does not complete the body of a client that leaves in the middle', async () => {
      const ends: string[] = [];
      const url = await proxy.start((request) => {
        request.resume();
        request.once('end', () => ends.push('end')).once('aborted', () => ends.push('aborted'));
        request.on('error', () => undefined);
      });
      const client = await rawConnection(url);
      client.send(
        `POST /a HTTP/1.1\r\nHost: x\r\n${bearer().join(': ')}\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n`,
      );
      await eventually(() => decided().length === 1);
      client.leave();
      await eventually(() => ends.length > 0);
      expect(ends).to.deep.equal(['aborted']);
      expect(errors).to.deep.equal([]);
    });

    it('answers 408 to a client that sends no part of its body for a minute, and closes the connection', async () => {
      let received = '';
      let look = (): void => undefined;
      const url = await proxy.start((request) => {
        request
          .on('error', () => undefined)
          .on('data', (chunk) => {
            received += chunk;
            look();
          });
      });
      const client = await rawConnection(url);
      const sent = (part: string) =>
        new Promise<void>((resolve) => {
          look = () => received.endsWith(part) && resolve();
          client.send(part);
        });
      client.send(`POST /a HTTP/1.1\r\nHost: x\r\n${bearer().join(': ')}\r\nContent-Length: 12\r\n\r\n`);
      await sent('one');
      mock.timers.enable({ apis: ['setTimeout'] });
      try {
        for (const part of ['two', 'thr']) {
          await sent(part);
          mock.timers.tick(59_999);
          expect(client.received()).to.equal('');
        }
        mock.timers.tick(1);
      } finally {
        mock.timers.reset();
      }
      const answer = await client.until('never sent');
      expect(answer)
        .to.match(/^HTTP\/1\.1 408 .*\r\nConnection: close\r\n/s)
        .and.to.include('request_timeout');
      expect([decided(), errors]).to.deep.equal([[['POST /*', 'allow', null]], []]);
    });

    it('passes an answer on that comes before the end of the body, whole, and then cuts the client off', async () => {
      let isSent = false;
      // It reads on after its answer (RFC 9112 §9.6). A server that closes at once resets the connection, and the answer is lost.
      const origin = await proxy.upstreamOfBytes((socket) => {
        socket.once('data', () => {
          socket.write(
            `HTTP/1.1 413 Content Too Large\r\nContent-Length: ${CHUNK.length}\r\nConnection: close\r\n\r\n`,
          );
          socket.end(CHUNK, () => {
            isSent = true;
          });
          socket.resume();
        });
      });
      const url = await proxy.start(origin);
      const sent = open(`${url}/a`, 'POST', { 'Content-Length': String(LARGE) }).on('error', () => undefined);
      sent.write(CHUNK);
      const answer = await answerOf(sent);
      await eventually(() => isSent);
      expect([answer.statusCode, (await textOf(answer)).length]).to.deep.equal([413, CHUNK.length]);
      await eventually(() => sent.closed || (sent.write('x') && false), 50);
      expect(errors).to.deep.equal([]);
    });

    it('reads no body before the decision, and cuts a refused client off that goes on sending', async () => {
      const url = await proxy.start(() => {
        throw new Error('The upstream was asked.');
      });
      const { hostname: host, port } = new URL(url);
      const socket = connect({ host, port: Number(port) }).on('error', () => undefined);
      let text = '';
      socket.on('data', (chunk) => {
        text += String(chunk);
      });
      socket.write(`POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: ${LARGE}\r\n\r\nx`);
      await eventually(() => text.includes('missing_token'));
      await eventually(() => socket.closed || (socket.write('x') && false), 50);
      expect(decided()).to.deep.equal([['POST /*', 'deny', 'missing_token']]);
    });
  });

  describe('whose upstream fails', () => {
    const head = 'HTTP/1.1 200 OK\r\n';
    const bytes: readonly (readonly [what: string, answer: string])[] = [
      ['sends two different Content-Lengths', `${head}Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc`],
      ['sends Content-Length twice', `${head}Content-Length: 2\r\nContent-Length: 2\r\n\r\nab`],
      ['sends both framings', `${head}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
      ['sends no HTTP', 'SSH-2.0-OpenSSH_9.2\r\n'],
      ['switches the protocol', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n'],
      ['sends a header that no answer can have', `${head}X: \u0001\r\nContent-Length: 0\r\n\r\n`],
      ['closes the connection without an answer', ''],
      ['closes the connection in its head', 'HTTP/1.1 200 O'],
    ];
    for (const [what, answer] of bytes) {
      it(`is answered with 502 if it ${what}, also the next time`, async () => {
        const origin = await proxy.upstreamOfBytes((socket) => {
          socket.once('data', () => socket.end(answer));
        });
        const url = await proxy.start(origin);
        for (const count of [1, 2]) {
          const refused = await rawRequest(`${url}/a`, 'GET', [bearer()]);
          expect([refused.status, JSON.parse(refused.body).error]).to.deep.equal([502, 'bad_gateway']);
          expect(errors).to.have.lengthOf(count);
          expect(errors[0]?.replace(/\(\w+\)/, '(code)')).to.equal(`The upstream ${origin} did not answer (code).`);
        }
        expect(decided()).to.deep.equal(Array(2).fill(['GET /*', 'allow', null]));
      });
    }

    it('resets the connection of an HTTP/1.0 client if it dies in a body: an end would look like that of the body', async () => {
      const origin = await proxy.upstreamOfBytes((socket) => {
        socket.once('data', () => socket.end(`${head}Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n`));
      });
      const url = await proxy.start(origin);
      const { end } = await sendBytes(url, `GET /a HTTP/1.0\r\n${bearer().join(': ')}\r\n\r\n`);
      expect(end).to.equal('reset');
      expect(errors).to.have.lengthOf(1);
    });

    it('is answered with 502 if nothing listens there', async () => {
      const origin = await proxy.upstreamOfBytes(() => undefined);
      const url = await proxy.start(origin.replace(/\d+$/, '1'));
      expect((await rawRequest(`${url}/a`, 'POST', [bearer()], 'body')).status).to.equal(502);
      expect(errors).to.deep.equal([`The upstream ${origin.replace(/\d+$/, '1')} did not answer (ECONNREFUSED).`]);
    });

    for (const [what, method, body] of [
      ['never answers', 'GET', ''],
      ['never reads the body', 'PUT', 'x'.repeat(8 * MIB)],
    ] as const) {
      it(`is answered with 504 if it ${what}`, async () => {
        const origin = await proxy.upstreamOfBytes((socket) => socket.pause());
        const url = await proxy.start(origin, { upstreamTimeoutMs: 100 });
        const sent = open(`${url}/a`, method, { 'Content-Length': String(body.length) }).on('error', () => undefined);
        sent.end(body);
        const answer = await answerOf(sent);
        expect([answer.statusCode, JSON.parse(await textOf(answer)).error]).to.deep.equal([504, 'gateway_timeout']);
        expect(errors).to.have.lengthOf(1);
      });
    }

    it('may take longer than its limit for the body of its answer, and while the client sends', async () => {
      const url = await proxy.start(
        async (request, response) => {
          await textOf(request);
          response.write('begun ');
          setTimeout(() => response.end('done'), 300);
        },
        { upstreamTimeoutMs: 100 },
      );
      const sent = open(`${url}/a`, 'POST', { 'Content-Length': '2' });
      sent.write('a');
      await new Promise((resolve) => setTimeout(resolve, 300));
      sent.end('b');
      expect(await textOf(await answerOf(sent))).to.equal('begun done');
      expect(errors).to.deep.equal([]);
    });

    for (const [what, framing, rest] of [
      ['with a length', 'Content-Length: 10\r\n', 'half'],
      ['in chunks', 'Transfer-Encoding: chunked\r\n', '4\r\nhalf\r\n'],
    ] as const) {
      it(`cuts the answer if it dies in a body ${what}`, async () => {
        const origin = await proxy.upstreamOfBytes((socket) => {
          socket.once('data', () => socket.end(`${head}${framing}\r\n${rest}`));
        });
        const url = await proxy.start(origin);
        const sent = open(`${url}/a`, 'GET').on('error', () => undefined);
        sent.end();
        const answer = await answerOf(sent);
        const failed = await textOf(answer).then(
          () => undefined,
          (error: NodeJS.ErrnoException) => error.code,
        );
        expect(failed).to.equal('ECONNRESET');
        expect(errors).to.have.lengthOf(1);
        expect(errors[0]).to.match(/ended its answer early \((?:[A-Z_]+|HTTPParserError)\)\.$/);
      });
    }
  });

  it('does not wait at a stop for an upstream that accepts no connection', async function () {
    this.timeout(10_000);
    let isAsked = false;
    const origin = await proxy.upstreamOfBytes((socket) => {
      // It never sends its part of the TLS handshake.
      socket.once('data', () => {
        isAsked = true;
      });
    });
    const url = await proxy.start(origin.replace('http:', 'https:'), { upstreamTimeoutMs: 60_000 });
    const sent = open(`${url}/a`, 'GET').on('error', () => undefined);
    sent.end();
    await eventually(() => isAsked);
    await proxy.stop();
    expect(errors).to.deep.equal([]);
  });

  it('lets running answers end at a stop, and cuts what still runs at its end', async () => {
    const streams = new Map<string, ServerResponse>();
    const url = await proxy.start((request, response) => {
      streams.set(request.url ?? '', response);
      response.write('begun ');
    });
    const [short, endless] = ['/short', '/endless'].map((path) => {
      const sent = open(`${url}${path}`, 'GET').on('error', () => undefined);
      sent.end();
      return answerOf(sent);
    });
    const answers = await Promise.all([short, endless]);
    const stopped = proxy.stop();
    const [first, second] = answers.map((answer) => answer && textOf(answer).catch(() => 'cut'));
    streams.get('/short')?.end('done');
    expect(await first).to.equal('begun done');
    expect(await second).to.equal('cut');
    await stopped;
    await eventually(() => streams.get('/endless')?.destroyed === true);
    expect(errors).to.deep.equal([]);
  });
});
