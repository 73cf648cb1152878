/** The connections of the proxy to its upstream: which requests it repeats, and how long the head of an answer may be. */

import type { Socket } from 'node:net';
import { expect } from 'chai';
import type { ProxyConfiguration } from '../../../../../adapters/sdk/tool-server/guard/configuration.ts';
import { eventually } from '../../../../support/eventually.ts';
import { rawConnection } from '../../../../support/raw-http.ts';
import { fakeApprovals } from '../../../../support/tool-server/approvals.ts';
import { matchOf } from '../../../../support/tool-server/decided-app.ts';
import { proxyForEachTest, readable } from '../../../../support/tool-server/proxied-upstream.ts';
import { rawRequest } from '../../../../support/tool-server/raw-request.ts';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nown';

describe('A request on a kept connection that the upstream closes', () => {
  const proxy = proxyForEachTest();
  const { bearer, errors, decided } = proxy;
  const routes = readable('GET /*', 'HEAD /*', 'POST /*', 'PUT /*', 'DELETE /*', 'PATCH /*', 'TRACE /*');

  /** What arrives at the upstream: the number of the connection, and the request line. */
  let lines: (readonly [connection: number, line: string])[];
  /**
   * Answers the first request of each connection. @param second what becomes of the second one, and of each one after it on a
   * later connection
   */
  async function start(
    second: (socket: Socket) => void,
    { isEveryLater = false, ...more }: Partial<ProxyConfiguration> & { readonly isEveryLater?: boolean } = {},
  ): Promise<string> {
    lines = [];
    let connections = 0;
    const origin = await proxy.upstreamOfBytes((socket) => {
      connections += 1;
      const connection = connections;
      let asked = 0;
      socket.on('data', (bytes) => {
        asked += 1;
        lines.push([connection, String(bytes).split('\r\n')[0] ?? '']);
        if (asked > 1 || (isEveryLater && connection > 1)) second(socket);
        else socket.write(OK);
      });
    });
    return proxy.start(origin, { routes, open: [matchOf('OPTIONS /*')], ...more });
  }
  const ask = async (url: string, method: string, path: string, body = '', headers: readonly [string, string][] = []) =>
    (await rawRequest(`${url}${path}`, method, [bearer(), ...headers], body)).status;
  const afterOne = async (url: string, method: string, body = '', headers: readonly [string, string][] = []) => {
    expect(await ask(url, 'GET', '/first')).to.equal(200);
    return ask(url, method, '/second', body, headers);
  };

  const ends: readonly (readonly [how: string, end: (socket: Socket) => void])[] = [
    ['closes', (socket) => socket.end()],
    ['resets', (socket) => socket.resetAndDestroy()],
  ];
  for (const [how, end] of ends) {
    for (const method of ['GET', 'HEAD', 'OPTIONS']) {
      it(`${how} it: a ${method} is repeated on a new connection, with one event and no error`, async () => {
        const url = await start(end);
        expect(await afterOne(url, method)).to.equal(200);
        expect(lines).to.deep.equal([
          [1, 'GET /first HTTP/1.1'],
          [1, `${method} /second HTTP/1.1`],
          [2, `${method} /second HTTP/1.1`],
        ]);
        expect(errors).to.deep.equal([]);
        // An open request has no event.
        expect(decided()).to.have.lengthOf(method === 'OPTIONS' ? 1 : 2);
      });
    }
  }
  const [, close] = ends[0] as (typeof ends)[number];

  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'TRACE']) {
    it(`is not repeated if it is a ${method}`, async () => {
      const url = await start(close);
      expect(await afterOne(url, method)).to.equal(502);
      expect(lines.map(([connection]) => connection).slice(0, 2)).to.deep.equal([1, lines[1]?.[0]]);
      expect(lines).to.have.lengthOf(2);
    });
  }

  it('is begun on a new one if a person approved it: a yes lets one request through, which no closed connection loses', async () => {
    const approvals = await fakeApprovals(proxy.plane, () => Math.floor(Date.now() / 1000));
    const approvalKey = { jwk: { ...approvals.key.privateJwk } };
    const asked = { match: matchOf('GET /second'), scope: ['jira:read'], approval: { title: 'Pay', lines: [] } };
    const url = await start(close, { routes: [asked, ...routes], approvalKey });
    expect(await ask(url, 'GET', '/second')).to.equal(403);
    approvals.approve(approvals.asked.at(-1)?.claims.digest ?? '');
    expect(await afterOne(url, 'GET')).to.equal(200);
    expect(lines).to.deep.equal([
      [1, 'GET /first HTTP/1.1'],
      [2, 'GET /second HTTP/1.1'],
    ]);
    expect(decided().at(-1)).to.deep.equal(['GET /second', 'allow', null]);
    expect(errors).to.deep.equal([]);
  });

  it('is not repeated if it has a body', async () => {
    const url = await start(close, { isEveryLater: true });
    expect(await afterOne(url, 'GET', 'body')).to.equal(502);
    expect(lines.filter(([, line]) => line.includes('/second'))).to.have.lengthOf(1);
  });

  it('is not repeated twice, and the second fault is answered and logged once', async () => {
    const url = await start(close, { isEveryLater: true });
    expect(await afterOne(url, 'GET')).to.equal(502);
    expect(lines.map(([connection]) => connection)).to.deep.equal([1, 1, 2]);
    expect(errors).to.have.lengthOf(1);
    expect(errors[0]).to.match(/did not answer \(ECONNRESET\)/);
  });

  it('is not repeated on the first connection, which no earlier request has used', async () => {
    lines = [];
    const origin = await proxy.upstreamOfBytes((socket) => {
      socket.on('data', (bytes) => {
        lines.push([1, String(bytes)]);
        socket.end();
      });
    });
    expect(await ask(await proxy.start(origin), 'GET', '/second')).to.equal(502);
    expect(lines).to.have.lengthOf(1);
  });

  for (const [what, bytes] of [
    ['a byte of its head', 'H'],
    ['an interim answer', 'HTTP/1.1 103 Early Hints\r\n\r\n'],
    ['its head', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n'],
  ] as const) {
    it(`is not repeated after ${what}`, async () => {
      const url = await start((socket) => void socket.end(bytes));
      expect(await ask(url, 'GET', '/first')).to.equal(200);
      const second = ask(url, 'GET', '/second');
      if (what === 'its head') expect(await second.then(String, (error) => error.code)).to.equal('ECONNRESET');
      else expect(await second).to.equal(502);
      expect(lines.map(([connection]) => connection)).to.deep.equal([1, 1]);
      expect(errors).to.have.lengthOf(1);
    });
  }

  it('is not repeated for a client that has left', async () => {
    let isClosed = false;
    let leave = (): void => undefined;
    const url = await start((socket) => {
      socket.once('close', () => {
        isClosed = true;
      });
      leave();
    });
    expect(await ask(url, 'GET', '/first')).to.equal(200);
    const client = await rawConnection(url);
    leave = () => client.leave();
    client.send(`GET /second HTTP/1.1\r\nHost: x\r\n${bearer().join(': ')}\r\n\r\n`);
    // By the guard, whose own request fails as if the upstream had closed the connection.
    await eventually(() => isClosed);
    expect(await ask(url, 'GET', '/third')).to.equal(200);
    expect(lines.map(([, line]) => line.split(' ')[1])).to.deep.equal(['/first', '/second', '/third']);
  });
});

describe('The head of an answer of the upstream', () => {
  const proxy = proxyForEachTest();
  const { bearer, errors } = proxy;

  const cookies = (count: number) =>
    Array.from({ length: count }, (_, nth) => `Set-Cookie: c${nth}=${'x'.repeat(1000)}\r\n`).join('');
  async function start(head: string): Promise<string> {
    const origin = await proxy.upstreamOfBytes((socket) => {
      socket.once('data', () => socket.end(`HTTP/1.1 200 OK\r\n${head}Content-Length: 2\r\n\r\nok`));
    });
    return proxy.start(origin);
  }

  it('may have nearly 64 KiB, and arrives whole', async () => {
    const client = await rawConnection(await start(cookies(62)));
    client.send(`GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${bearer().join(': ')}\r\n\r\n`);
    const received = await client.until('\r\n\r\nok');
    expect(received.match(/Set-Cookie/g)).to.have.lengthOf(62);
    expect(received).to.match(/^HTTP\/1\.1 200 /);
    expect(errors).to.deep.equal([]);
    client.leave();
  });

  it('is refused with a sentence that says what it was, if it is longer', async () => {
    const answer = await rawRequest(`${await start(cookies(66))}/a`, 'GET', [bearer()]);
    expect([answer.status, JSON.parse(answer.body)]).to.deep.equal([
      502,
      {
        error: 'bad_gateway',
        error_description: 'The answer of the server behind the guard has over 64 KiB of headers.',
      },
    ]);
    expect(errors).to.have.lengthOf(1);
    expect(errors[0]).to.match(/^The upstream \S+ sent over 64 KiB of headers \(HPE_HEADER_OVERFLOW\)\.$/);
  });
});
