/** Admission control over real HTTP, in front of an application that holds its requests until a test answers them. */

import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { type AdmissionControl, admission } from '../../../../adapters/http/admission/admission.ts';
import { limitConcurrency, type WorkLimiters, workLimiters } from '../../../../adapters/http/admission/concurrency.ts';
import type { BucketRules, RateLimitRules } from '../../../../adapters/http/admission/rate-limit.ts';
import { consoleRouteOf } from '../../../../adapters/http/console/routes.ts';
import { readBody } from '../../../../adapters/http/message/body.ts';
import { type RouteOf, routed, routeOf, type Work, works } from '../../../../adapters/http/routes.ts';
import { type HttpServer, startHttpServer } from '../../../../adapters/http/server/server.ts';
import type { AnonymousDenials } from '../../../../application/ledger/anonymous-denials.ts';
import type { AnonymousDenial } from '../../../../domain/ledger/aggregation.ts';
import { type CapturedLog, capturedLog } from '../../../support/captured-log.ts';
import { eventually } from '../../../support/eventually.ts';
import { type MovedClock, movedClock } from '../../../support/moved-clock.ts';
import { formPost, type RawConnection, rawConnection } from '../../../support/raw-http.ts';

/** One path for each concurrency limit. */
const PATHS: Readonly<Record<Work, string>> = {
  token: '/oauth2/token',
  introspection: '/oauth2/introspect',
  revoking: '/oauth2/revoke',
  proof: '/audit/records/1/proof',
  sign_in: '/me/sign-in',
  console_sign_in: '/sign-in',
  other: '/.well-known/jwks.json',
};

const LAVISH: BucketRules = { permitsPerMinute: 60_000, burst: 10_000 };

interface Fixture {
  readonly url: string;
  readonly clock: MovedClock;
  readonly log: CapturedLog;
  readonly records: AnonymousDenial[];
  readonly limiters: WorkLimiters;
  /** The admitted requests, in order. The test answers them. */
  readonly held: { readonly path: string; readonly request: IncomingMessage; readonly response: ServerResponse }[];
  /** Resolves when the application has this number of requests. */
  admitted(count: number): Promise<void>;
  /** Sends the bytes on a new connection. */
  send(bytes: string): Promise<RawConnection>;
  /** Sends a request on a new connection, and resolves when the application has it. */
  occupy(path?: string): Promise<RawConnection>;
  readonly server: HttpServer;
  stop(): Promise<void>;
}

type Given = Partial<Pick<AnonymousDenials, 'record'>> & {
  /** Whether denials are only counted and not written. */
  readonly isCounted?: boolean;
  readonly permits?: { readonly concurrency: number; readonly queue: number; readonly waitMs?: number };
  readonly rates?: Partial<RateLimitRules>;
};

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: mandate.test\r\n\r\n`;

async function open({ permits: limits, rates, record, isCounted = false }: Given): Promise<Fixture> {
  const [clock, log, records] = [movedClock(), capturedLog(), [] as AnonymousDenial[]];
  // The rate limit adds permits only when a test advances the clock.
  clock.standStill();
  const limiters = workLimiters({ waitMs: 30_000, ...(limits ?? { concurrency: 1, queue: 0 }) });
  const held: Fixture['held'][number][] = [];
  const connections: RawConnection[] = [];
  const control: AdmissionControl = {
    rates: rates && { main: LAVISH, introspection: LAVISH, signals: LAVISH, trustedProxies: [], ...rates },
    limiters: limits && limiters,
    denials: {
      record(denial) {
        records.push(denial);
        return isCounted ? undefined : (record?.(denial) ?? Promise.resolve());
      },
    },
    clock,
    log,
  };
  const admitting = admission(control, (request, response) => {
    held.push({ path: request.url ?? '', request, response });
  });
  // The console has its own listener.
  const routes: RouteOf = (target) =>
    target === PATHS.console_sign_in ? consoleRouteOf(target) : routeOf(target, { me: true });
  const listener = routed(routes, admitting);
  const server = await startHttpServer(
    { host: '127.0.0.1', port: 0 },
    { listener, classes: { IncomingMessage, ServerResponse }, log: capturedLog() },
  );
  const url = `http://127.0.0.1:${server.address.port}`;
  const admitted = (count: number) => eventually(() => held.length >= count);
  async function send(bytes: string) {
    const connection = await rawConnection(url);
    connections.push(connection);
    connection.send(bytes);
    return connection;
  }
  return {
    url,
    clock,
    log,
    records,
    limiters,
    held,
    server,
    admitted,
    send,
    async occupy(path = '/a') {
      const before = held.length;
      const connection = await send(get(path));
      await admitted(before + 1);
      return connection;
    },
    async stop() {
      for (const connection of connections) connection.leave();
      await server.stop(0);
    },
  };
}

const ANSWERED = 'HTTP/1.1 200';
const REFUSED = 'HTTP/1.1 503';

describe('The concurrency limit', () => {
  let fixture: Fixture;
  afterEach(() => fixture.stop());

  for (const work of works) {
    it(`of ${work} requests refuses a request without taking permits of the other limits`, async () => {
      fixture = await open({ permits: { concurrency: 1, queue: 0 } });
      await fixture.occupy(PATHS[work]);
      const second = await fixture.send(get(PATHS[work]));
      expect(await second.until('\r\n\r\n')).to.match(/^HTTP\/1.1 503/);
      for (const other of works.filter((one) => one !== work)) await fixture.occupy(PATHS[other]);
      expect(fixture.held.map(({ path }) => path)).to.have.members(works.map((one) => PATHS[one]));
    });
  }

  it('of revoking requests applies to every route that revokes', async () => {
    fixture = await open({ permits: { concurrency: 1, queue: 0 } });
    await fixture.occupy('/scim/v2/Users');
    const others = ['/oauth2/revoke', '/backchannel-logout', '/scim', '/events', '/admin', '/admin/agents?limit=1'];
    for (const path of others) {
      const connection = await fixture.send(get(path));
      expect(await connection.until('\r\n\r\n'), path).to.match(/^HTTP\/1.1 503/);
    }
  });

  it('refuses the slowest sender of a form when too many forms are being read, and closes its connection', async () => {
    fixture = await open({});
    const limit = limitConcurrency(workLimiters({ concurrency: 4, queue: 0, waitMs: 1000 }), { maxReading: 2 });
    let refused: (() => void) | undefined;
    const next = (response: ServerResponse) => ({
      serve: () => response.end('served'),
      refuse: () => {
        refused = () => response.end('refused');
      },
    });
    let begun = 0;
    const server = createServer((request, response) => {
      begun += 1;
      limit(request, response, routeOf('/oauth2/introspect'), next(response));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const whole = formPost('/oauth2/introspect', 'token=something');
    const senders: RawConnection[] = [];
    for (let nth = 1; nth <= 3; nth += 1) {
      const sender = await rawConnection(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
      sender.send(whole.slice(0, -1));
      senders.push(sender);
      await eventually(() => begun === nth);
    }
    const [slowest, ...others] = senders;
    // The rest of the form arrives while the denial is being recorded. The request is still refused.
    slowest?.send(whole.slice(-1));
    await eventually(() => refused !== undefined);
    await new Promise((resolve) => setTimeout(resolve, 20));
    refused?.();
    expect(await slowest?.until('to the end')).to.match(/^HTTP\/1.1 200 .*\r\nConnection: close\r\n.*\r\nrefused$/s);
    for (const sender of others) {
      sender.send(whole.slice(-1));
      expect(await sender.until('served')).to.match(/^HTTP\/1.1 200/);
      sender.leave();
    }
    server.close();
  });

  it('does not apply to health checks', async () => {
    fixture = await open({ permits: { concurrency: 1, queue: 0 }, rates: { main: { permitsPerMinute: 1, burst: 1 } } });
    for (let count = 1; count <= 5; count += 1) {
      await fixture.occupy(count % 2 === 0 ? '/healthz' : '/readyz?verbose');
    }
    expect(fixture.limiters.other.busy).to.equal(0);
  });

  it('admits queued requests in order, each after the response to an earlier request', async () => {
    fixture = await open({ permits: { concurrency: 1, queue: 2 } });
    const connections = [];
    for (const path of ['/a', '/b', '/c']) {
      connections.push(await fixture.send(get(path)));
      await eventually(() => fixture.limiters.other.busy + fixture.limiters.other.waiting === connections.length);
    }
    for (const [at, connection] of connections.entries()) {
      await fixture.admitted(at + 1);
      expect(fixture.held.map(({ path }) => path)).to.deep.equal(['/a', '/b', '/c'].slice(0, at + 1));
      fixture.held[at]?.response.end('done');
      expect(await connection.until('done')).to.include(ANSWERED);
    }
    await eventually(() => fixture.limiters.other.busy === 0);
  });

  for (const [path, event] of [
    ['/audit', 'admin.denied'],
    ['/agents/someone/jwks.json', 'token.denied'],
    ['/no-such-path', 'token.denied'],
  ] as const) {
    it(`refuses ${path} in problem details, and records the refusal as ${event}`, async () => {
      fixture = await open({ permits: { concurrency: 1, queue: 0 } });
      await fixture.occupy('/.well-known/jwks.json');
      const second = await fixture.send(get(path));
      const answer = await second.until('}');
      expect(answer).to.include(REFUSED).and.include('\r\nContent-Type: application/problem+json; charset=utf-8\r\n');
      expect(JSON.parse(answer.slice(answer.indexOf('{')))).to.deep.equal({
        type: 'about:blank',
        title: 'Service Unavailable',
        status: 503,
        error: 'temporarily_unavailable',
        detail: 'The service is at capacity. Retry the request.',
      });
      expect(fixture.records).to.deep.equal([{ event, reason: 'overloaded' }]);
    });
  }

  it('refuses a request with Retry-After when the request has waited too long', async () => {
    fixture = await open({ permits: { concurrency: 1, queue: 5, waitMs: 40 } });
    await fixture.occupy();
    const began = performance.now();
    for (const connection of [await fixture.send(get('/b')), await fixture.send(get('/c'))]) {
      const answer = await connection.until('}');
      expect(answer).to.include(REFUSED).and.include('\r\nRetry-After: 1\r\n');
    }
    expect(performance.now() - began).to.be.within(39, 10_000);
    expect(fixture.records).to.deep.equal(Array(2).fill({ event: 'token.denied', reason: 'overloaded' }));
  });

  it('frees the queue entry of a client that disconnects, and does not process its request', async () => {
    fixture = await open({ permits: { concurrency: 1, queue: 1 } });
    await fixture.occupy();
    const leaver = await fixture.send(get('/leaver'));
    await eventually(() => fixture.limiters.other.waiting === 1);
    leaver.leave();
    await eventually(() => fixture.limiters.other.waiting === 0);
    await fixture.send(get('/next'));
    await eventually(() => fixture.limiters.other.waiting === 1);
    fixture.held[0]?.response.end();
    await fixture.admitted(2);
    expect(fixture.held.map(({ path }) => path)).to.deep.equal(['/a', '/next']);
    expect(fixture.records).to.deep.equal([]);
  });

  it('frees the permit of a client that disconnects during its request, once', async () => {
    fixture = await open({ permits: { concurrency: 1, queue: 5 } });
    (await fixture.occupy('/leaver')).leave();
    await eventually(() => fixture.limiters.other.busy === 0);
    // The late response must not free the permit a second time.
    fixture.held[0]?.response.end();
    await fixture.occupy('/next');
    expect(fixture.limiters.other).to.include({ busy: 1, waiting: 0 });
  });

  it('reads a form before it takes a permit, so that a slow sender holds none', async () => {
    fixture = await open({ permits: { concurrency: 1, queue: 0 } });
    const slow = await fixture.send(formPost('/oauth2/token', 'token=abcdef', 5));
    await fixture.send(formPost('/oauth2/token', 'token=quick'));
    await fixture.admitted(1);
    const body = await readBody(fixture.held[0]?.request as IncomingMessage);
    expect(body.kind === 'read' && body.bytes.toString()).to.equal('token=quick');
    fixture.held[0]?.response.end();
    await eventually(() => fixture.limiters.token.busy === 0);
    slow.send('=abcdef'.slice(-7));
    await fixture.admitted(2);
  });

  it('refuses a form at once when the queue is full', async () => {
    fixture = await open({ permits: { concurrency: 1, queue: 0 } });
    await fixture.occupy('/oauth2/token');
    const slow = await fixture.send(formPost('/oauth2/token', 'token=abcdef', 5));
    expect(await slow.until('}')).to.include(REFUSED);
  });

  it('does not admit a request whose client disconnects before its form is complete', async () => {
    fixture = await open({ permits: { concurrency: 1, queue: 0 } });
    const slow = await fixture.send(formPost('/oauth2/token', 'token=abcdef', 5));
    await fixture.occupy('/healthz');
    slow.leave();
    await fixture.send(formPost('/oauth2/token', 'token=next'));
    await fixture.admitted(2);
    expect(fixture.held.map(({ path }) => path)).to.deep.equal(['/healthz', '/oauth2/token']);
    expect(fixture.limiters.token.busy).to.equal(1);
  });

  it('admits pipelined requests one after another, and none after the client has disconnected', async () => {
    fixture = await open({ permits: { concurrency: 5, queue: 5 } });
    const pipeline = await fixture.send(get('/a') + get('/b') + get('/c'));
    await fixture.admitted(1);
    fixture.held[0]?.response.end('a');
    await fixture.admitted(2);
    expect(fixture.limiters.other.busy).to.equal(1);
    pipeline.leave();
    await eventually(() => fixture.limiters.other.busy === 0);
    expect(fixture.held.map(({ path }) => path)).to.deep.equal(['/a', '/b']);
  });
});

describe('A request that arrives while the server stops and finishes running requests', () => {
  for (const [limits, permits] of [
    ['with a concurrency limit', { concurrency: 4, queue: 0 }],
    ['without limits', undefined],
  ] as const) {
    it(`is refused with Retry-After and recorded, while the running request is answered, ${limits}`, async () => {
      const fixture = await open(permits === undefined ? {} : { permits });
      const running = await fixture.occupy(PATHS.token);
      const stopped = fixture.server.stop(0);
      const late = await fixture.send(get(PATHS.token));
      const refusal = await late.until('unreachable');
      expect(refusal)
        .to.match(/^HTTP\/1.1 503/)
        .and.include('Connection: close')
        .and.include('Retry-After: ');
      expect(fixture.records).to.deep.equal([{ event: 'token.denied', reason: 'overloaded' }]);
      expect(fixture.held).to.have.length(1);
      fixture.held[0]?.response.end();
      expect(await running.until('\r\n\r\n')).to.match(/^HTTP\/1.1 200/);
      await stopped;
    });
  }
});

describe('The rate limit', () => {
  let fixture: Fixture;
  afterEach(() => fixture.stop());

  /** Returns a connection whose first request has used the only permit. The next permit comes after a second. */
  const withoutPermits = async (more: Given = {}): Promise<RawConnection> => {
    fixture = await open({ rates: { main: { permitsPerMinute: 60, burst: 1 } }, ...more });
    const connection = await fixture.occupy();
    fixture.held[0]?.response.end('served');
    await connection.until('served');
    return connection;
  };

  it('refuses a request before it reads the body, and has another permit after a second', async () => {
    const connection = await withoutPermits();
    // The body is never sent, and its media type is invalid.
    connection.send('POST /oauth2/token HTTP/1.1\r\nHost: x\r\nContent-Type: nonsense\r\nContent-Length: 50\r\n\r\n');
    expect(await connection.until('}'))
      .to.include('HTTP/1.1 429')
      .and.include('\r\nRetry-After: 1\r\n');
    fixture.clock.advance(1);
    await fixture.occupy('/b');
  });

  it('keeps the connection of a refused request open for the next request', async () => {
    const connection = await withoutPermits();
    const body = 'x'.repeat(60_000);
    connection.send(formPost('/oauth2/token', body));
    await connection.until('slow_down');
    fixture.clock.advance(5);
    connection.send(get('/b'));
    await fixture.admitted(2);
    fixture.held[1]?.response.end('served too');
    expect(await connection.until('served too')).to.include('served too');
  });

  for (const [sending, head, chunk] of [
    ['chunks', 'Transfer-Encoding: chunked', `10000\r\n${'x'.repeat(65_536)}\r\n`],
    ['a declared body', 'Content-Length: 65536000', 'x'.repeat(65_536)],
  ]) {
    it(`sends the 429 to a client that keeps sending ${sending}, and then closes the connection`, async () => {
      const connection = await withoutPermits();
      connection.send(`POST /admin/agents HTTP/1.1\r\nHost: x\r\n${head}\r\n\r\n`);
      let sent = 0;
      while (!connection.socket.destroyed && sent < 1000) {
        sent += 1;
        connection.socket.write(chunk ?? '');
        await new Promise((resolve) => setImmediate(resolve));
      }
      await eventually(() => connection.socket.destroyed);
      expect(connection.received()).to.include('HTTP/1.1 429');
      expect(connection.socket.bytesWritten).to.be.below(20 * 1024 * 1024);
    });
  }

  it('answers at once when the denial is only counted', async () => {
    const connection = await withoutPermits({ isCounted: true });
    connection.send(get('/b'));
    await connection.until('slow_down');
    expect(fixture.records).to.deep.equal([{ event: 'token.denied', reason: 'rate_limited' }]);
  });

  it('reads the next request after the rest of a short refused body', async () => {
    const connection = await withoutPermits();
    connection.send('POST /admin/agents HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nsome of it');
    await connection.until('slow_down');
    fixture.clock.advance(1);
    connection.send(`${'x'.repeat(90)}${get('/b')}`);
    await fixture.admitted(2);
    expect(fixture.held[1]?.path).to.equal('/b');
  });

  it('has a bucket for introspection, one for each signal receiver, and one for all other routes', async () => {
    const scarce = { permitsPerMinute: 60, burst: 1 };
    fixture = await open({ rates: { main: scarce, introspection: scarce, signals: scarce } });
    const statuses = [];
    const paths = ['/oauth2/token', '/oauth2/introspect', '/backchannel-logout', '/scim/v2/Users', '/events'];
    for (const path of [...paths, ...paths, '/admin/agents', '/unknown', '/oauth2/revoke', '/scimitar']) {
      const before = fixture.held.length;
      const connection = await fixture.send(get(path));
      await eventually(() => fixture.held.length > before || connection.received() !== '');
      statuses.push(connection.received().slice(9, 12));
    }
    expect(statuses).to.deep.equal([...Array(5).fill(''), ...Array(9).fill('429')]);
  });

  it('answers before the denial is recorded, and logs a bug in recording it', async () => {
    let fail: (error: Error) => void = () => undefined;
    const record = () => new Promise<void>((_resolve, reject) => (fail = reject));
    fixture = await open({ rates: { main: { permitsPerMinute: 1, burst: 1 } }, record });
    await fixture.occupy();
    const second = await fixture.send(get('/b'));
    expect(await second.until('}')).to.include('HTTP/1.1 429');
    fail(new TypeError('secret'));
    await eventually(() => fixture.log.lines.length > 0);
    expect(fixture.log.lines.join()).to.include('a refusal could not be recorded').and.not.include('secret');
  });

  it('logs the number of refused requests once a second', async () => {
    fixture = await open({ rates: { main: { permitsPerMinute: 60, burst: 1 } } });
    const connection = await fixture.occupy();
    fixture.held[0]?.response.end();
    const began = performance.now();
    connection.send(Array(7).fill(get('/oauth2/token')).join(''));
    const lines = () => fixture.log.lines.map((line) => JSON.parse(line));
    await eventually(() => lines().reduce((sum, { count }) => sum + count, 0) === 7);
    // One line, unless the machine paused for a second between two requests.
    expect(performance.now() - began).to.be.at.least(lines().length * 990);
    for (const { count, ...line } of lines()) {
      expect(line).to.deep.equal({
        level: 'warn',
        message: 'requests were refused',
        surface: 'oauth',
        reason: 'rate_limited',
      });
    }
  });
});
