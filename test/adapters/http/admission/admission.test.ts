/** The door over real HTTP, with an application behind it that answers when it is told to. */

import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { type AdmissionControl, admission } from '../../../../adapters/http/admission/admission.ts';
import { limitConcurrency, type WorkLimiters, workLimiters } from '../../../../adapters/http/admission/concurrency.ts';
import type { BucketRules, RateLimitRules } from '../../../../adapters/http/admission/rate-limit.ts';
import { readBody } from '../../../../adapters/http/message/body.ts';
import { routeOf, type Work, works } from '../../../../adapters/http/routes.ts';
import { startHttpServer } from '../../../../adapters/http/server/server.ts';
import type { AnonymousDenials } from '../../../../application/ledger/anonymous-denials.ts';
import type { AnonymousDenial } from '../../../../domain/ledger/aggregation.ts';
import { type CapturedLog, capturedLog } from '../../../support/captured-log.ts';
import { eventually } from '../../../support/eventually.ts';
import { type MovedClock, movedClock } from '../../../support/moved-clock.ts';
import { formPost, type RawConnection, rawConnection } from '../../../support/raw-http.ts';

/** A path of each kind of work. */
const PATHS: Readonly<Record<Work, string>> = {
  token: '/oauth2/token',
  introspection: '/oauth2/introspect',
  revoking: '/oauth2/revoke',
  proof: '/audit/records/1/proof',
  other: '/.well-known/jwks.json',
};

const LAVISH: BucketRules = { permitsPerMinute: 60_000, burst: 10_000 };

interface Scene {
  readonly url: string;
  readonly clock: MovedClock;
  readonly log: CapturedLog;
  readonly records: AnonymousDenial[];
  readonly limiters: WorkLimiters;
  /** Requests that have come to the application and have not been answered, by path. */
  readonly held: { readonly path: string; readonly request: IncomingMessage; readonly response: ServerResponse }[];
  /** Resolves once as many have come to the application. */
  come(count: number): Promise<void>;
  connection(): Promise<RawConnection>;
  stop(): Promise<void>;
}

type Given = Partial<Pick<AnonymousDenials, 'record'>> & {
  /** No refusal is written. */
  readonly isCounted?: boolean;
  readonly turns?: { readonly concurrency: number; readonly queue: number; readonly waitMs?: number };
  readonly rates?: Partial<RateLimitRules>;
};

async function open({ turns: limits, rates, record, isCounted = false }: Given): Promise<Scene> {
  const [clock, log, records] = [movedClock(), capturedLog(), [] as AnonymousDenial[]];
  // A permit comes with each second, however long a test takes.
  clock.standStill();
  const limiters = workLimiters({ waitMs: 30_000, ...(limits ?? { concurrency: 1, queue: 0 }) });
  const held: Scene['held'][number][] = [];
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
  const listener = admission(control, (request, response) => {
    held.push({ path: request.url ?? '', request, response });
  });
  const server = await startHttpServer(
    { host: '127.0.0.1', port: 0 },
    { listener, classes: { IncomingMessage, ServerResponse }, log: capturedLog() },
  );
  const url = `http://127.0.0.1:${server.address.port}`;
  return {
    ...{ url, clock, log, records, limiters, held },
    come: (count) => eventually(() => held.length >= count),
    async connection() {
      const connection = await rawConnection(url);
      connections.push(connection);
      return connection;
    },
    async stop() {
      for (const connection of connections) connection.leave();
      await server.stop(0);
    },
  };
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: mandate.test\r\n\r\n`;
const ANSWERED = 'HTTP/1.1 200';
const REFUSED = 'HTTP/1.1 503';

describe('The door, when there is more to do than is done at once', () => {
  let scene: Scene;
  afterEach(() => scene.stop());

  for (const work of works) {
    it(`keeps ${work} to its own turns, and leaves every other kind of work all of theirs`, async () => {
      scene = await open({ turns: { concurrency: 1, queue: 0 } });
      const [first, second] = [await scene.connection(), await scene.connection()];
      first.send(get(PATHS[work]));
      await scene.come(1);
      second.send(get(PATHS[work]));
      expect(await second.until('\r\n\r\n')).to.match(/^HTTP\/1.1 503/);
      for (const other of works) {
        if (other === work) continue;
        const connection = await scene.connection();
        connection.send(get(PATHS[other]));
        await scene.come(scene.held.length + 1);
      }
      expect(scene.held.map(({ path }) => path)).to.have.members(works.map((one) => PATHS[one]));
    });
  }

  it('takes everything that revokes for one kind of work', async () => {
    scene = await open({ turns: { concurrency: 1, queue: 0 } });
    const first = await scene.connection();
    first.send(get('/scim/v2/Users'));
    await scene.come(1);
    for (const path of [
      '/oauth2/revoke',
      '/backchannel-logout',
      '/scim',
      '/events',
      '/admin',
      '/admin/agents?limit=1',
    ]) {
      const connection = await scene.connection();
      connection.send(get(path));
      expect(await connection.until('\r\n\r\n'), path).to.match(/^HTTP\/1.1 503/);
    }
  });

  it('refuses whoever takes longest to send a form, where too many are being read, and ends the connection', async () => {
    scene = await open({});
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
    // Its record is being written, and now the rest of its form comes: it is refused all the same.
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

  it('never limits health', async () => {
    scene = await open({ turns: { concurrency: 1, queue: 0 }, rates: { main: { permitsPerMinute: 1, burst: 1 } } });
    for (let count = 1; count <= 5; count += 1) {
      const connection = await scene.connection();
      connection.send(get(count % 2 === 0 ? '/healthz' : '/readyz?verbose'));
      await scene.come(count);
    }
    expect(scene.limiters.other.busy).to.equal(0);
  });

  it('lets the next in line work as soon as an answer is out, in the order they came', async () => {
    scene = await open({ turns: { concurrency: 1, queue: 2 } });
    const connections = [];
    for (const path of ['/a', '/b', '/c']) {
      const connection = await scene.connection();
      connections.push(connection);
      connection.send(get(path));
      await eventually(() => scene.limiters.other.busy + scene.limiters.other.waiting === connections.length);
    }
    for (const [at, connection] of connections.entries()) {
      await scene.come(at + 1);
      expect(scene.held.map(({ path }) => path)).to.deep.equal(['/a', '/b', '/c'].slice(0, at + 1));
      scene.held[at]?.response.end('done');
      expect(await connection.until('done')).to.include(ANSWERED);
    }
    await eventually(() => scene.limiters.other.busy === 0);
  });

  for (const [path, event] of [
    ['/audit', 'admin.denied'],
    ['/agents/someone/jwks.json', 'token.denied'],
    ['/no-such-path', 'token.denied'],
  ] as const) {
    it(`refuses ${path} in problem details, recorded as ${event}`, async () => {
      scene = await open({ turns: { concurrency: 1, queue: 0 } });
      const [first, second] = [await scene.connection(), await scene.connection()];
      first.send(get('/.well-known/jwks.json'));
      await scene.come(1);
      second.send(get(path));
      const answer = await second.until('}');
      expect(answer).to.include(REFUSED).and.include('\r\nContent-Type: application/problem+json; charset=utf-8\r\n');
      expect(JSON.parse(answer.slice(answer.indexOf('{')))).to.deep.equal({
        ...{ type: 'about:blank', title: 'Service Unavailable', status: 503, error: 'temporarily_unavailable' },
        detail: 'The service is at capacity. Retry the request.',
      });
      expect(scene.records).to.deep.equal([{ event, reason: 'overloaded' }]);
    });
  }

  it('refuses whoever has waited for too long, and says when to come back', async () => {
    scene = await open({ turns: { concurrency: 1, queue: 5, waitMs: 40 } });
    const [first, second, third] = [await scene.connection(), await scene.connection(), await scene.connection()];
    first.send(get('/a'));
    await scene.come(1);
    const began = performance.now();
    second.send(get('/b'));
    third.send(get('/c'));
    for (const connection of [second, third]) {
      const answer = await connection.until('}');
      expect(answer).to.include(REFUSED).and.include('\r\nRetry-After: 1\r\n');
    }
    expect(performance.now() - began).to.be.within(39, 10_000);
    expect(scene.records).to.deep.equal(Array(2).fill({ event: 'token.denied', reason: 'overloaded' }));
  });

  it('forgets whoever leaves while waiting: the place is free at once, and nothing is done for nobody', async () => {
    scene = await open({ turns: { concurrency: 1, queue: 1 } });
    const [first, leaver, next] = [await scene.connection(), await scene.connection(), await scene.connection()];
    first.send(get('/a'));
    await scene.come(1);
    leaver.send(get('/leaver'));
    await eventually(() => scene.limiters.other.waiting === 1);
    leaver.leave();
    await eventually(() => scene.limiters.other.waiting === 0);
    next.send(get('/next'));
    await eventually(() => scene.limiters.other.waiting === 1);
    scene.held[0]?.response.end();
    await scene.come(2);
    expect(scene.held.map(({ path }) => path)).to.deep.equal(['/a', '/next']);
    expect(scene.records).to.deep.equal([]);
  });

  it('has the turn of whoever leaves while being served back, once', async () => {
    scene = await open({ turns: { concurrency: 1, queue: 5 } });
    const leaver = await scene.connection();
    leaver.send(get('/leaver'));
    await scene.come(1);
    leaver.leave();
    await eventually(() => scene.limiters.other.busy === 0);
    // What the application then answers all the same goes nowhere, and gives nothing back a second time.
    scene.held[0]?.response.end();
    const next = await scene.connection();
    next.send(get('/next'));
    await scene.come(2);
    expect(scene.limiters.other).to.include({ busy: 1, waiting: 0 });
  });

  it('reads a form before it waits, so that no slow sender holds a turn', async () => {
    scene = await open({ turns: { concurrency: 1, queue: 0 } });
    const slow = await scene.connection();
    slow.send(formPost('/oauth2/token', 'token=abcdef', 5));
    const quick = await scene.connection();
    quick.send(formPost('/oauth2/token', 'token=quick'));
    await scene.come(1);
    const body = await readBody(scene.held[0]?.request as IncomingMessage);
    expect(body.kind === 'read' && body.bytes.toString()).to.equal('token=quick');
    scene.held[0]?.response.end();
    await eventually(() => scene.limiters.token.busy === 0);
    slow.send('=abcdef'.slice(-7));
    await scene.come(2);
  });

  it('waits for no form where there is no place in the line either', async () => {
    scene = await open({ turns: { concurrency: 1, queue: 0 } });
    const [first, slow] = [await scene.connection(), await scene.connection()];
    first.send(get('/oauth2/token'));
    await scene.come(1);
    slow.send(formPost('/oauth2/token', 'token=abcdef', 5));
    expect(await slow.until('}')).to.include(REFUSED);
  });

  it('serves nobody who left before the form was whole', async () => {
    scene = await open({ turns: { concurrency: 1, queue: 0 } });
    const slow = await scene.connection();
    slow.send(formPost('/oauth2/token', 'token=abcdef', 5));
    const probe = await scene.connection();
    probe.send(get('/healthz'));
    await scene.come(1);
    slow.leave();
    const next = await scene.connection();
    next.send(formPost('/oauth2/token', 'token=next'));
    await scene.come(2);
    expect(scene.held.map(({ path }) => path)).to.deep.equal(['/healthz', '/oauth2/token']);
    expect(scene.limiters.token.busy).to.equal(1);
  });

  it('takes requests that were sent together one after another, and none whose sender has left', async () => {
    scene = await open({ turns: { concurrency: 5, queue: 5 } });
    const together = await scene.connection();
    together.send(get('/a') + get('/b') + get('/c'));
    await scene.come(1);
    scene.held[0]?.response.end('a');
    await scene.come(2);
    expect(scene.limiters.other.busy).to.equal(1);
    together.leave();
    await eventually(() => scene.limiters.other.busy === 0);
    expect(scene.held.map(({ path }) => path)).to.deep.equal(['/a', '/b']);
  });
});

describe('The door, when somebody comes too fast', () => {
  let scene: Scene;
  afterEach(() => scene.stop());

  /** A connection on which one request was served, and nobody has a permit until the next second. */
  const withoutPermits = async (more: Given = {}): Promise<RawConnection> => {
    scene = await open({ rates: { main: { permitsPerMinute: 60, burst: 1 } }, ...more });
    const connection = await scene.connection();
    connection.send(get('/a'));
    await scene.come(1);
    scene.held[0]?.response.end('served');
    await connection.until('served');
    return connection;
  };

  it('refuses before anything of the request is read, and has a second permit a second later', async () => {
    const connection = await withoutPermits();
    // Of its body not a byte has come, and its media type is none.
    connection.send('POST /oauth2/token HTTP/1.1\r\nHost: x\r\nContent-Type: nonsense\r\nContent-Length: 50\r\n\r\n');
    expect(await connection.until('}'))
      .to.include('HTTP/1.1 429')
      .and.include('\r\nRetry-After: 1\r\n');
    scene.clock.advance(1);
    const later = await scene.connection();
    later.send(get('/b'));
    await scene.come(2);
  });

  it('leaves the connection as it was: the next request on it is answered', async () => {
    const connection = await withoutPermits();
    const body = 'x'.repeat(60_000);
    connection.send(formPost('/oauth2/token', body));
    await connection.until('slow_down');
    scene.clock.advance(5);
    connection.send(get('/b'));
    await scene.come(2);
    scene.held[1]?.response.end('served too');
    expect(await connection.until('served too')).to.include('served too');
  });

  for (const [sending, head, chunk] of [
    ['in chunks', 'Transfer-Encoding: chunked', `10000\r\n${'x'.repeat(65_536)}\r\n`],
    ['what it has announced', 'Content-Length: 65536000', 'x'.repeat(65_536)],
  ]) {
    it(`lets a client that is still sending ${sending} see the answer, and reads no more than a little of it`, async () => {
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

  it('waits for nothing where the refusal is counted', async () => {
    const connection = await withoutPermits({ isCounted: true });
    connection.send(get('/b'));
    await connection.until('slow_down');
    expect(scene.records).to.deep.equal([{ event: 'token.denied', reason: 'rate_limited' }]);
  });

  it('reads on behind a short body that comes after the answer', async () => {
    const connection = await withoutPermits();
    connection.send('POST /admin/agents HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nsome of it');
    await connection.until('slow_down');
    scene.clock.advance(1);
    connection.send(`${'x'.repeat(90)}${get('/b')}`);
    await scene.come(2);
    expect(scene.held[1]?.path).to.equal('/b');
  });

  it('has a bucket for introspection, one for each receiver, and one for everything else', async () => {
    const scarce = { permitsPerMinute: 60, burst: 1 };
    scene = await open({ rates: { main: scarce, introspection: scarce, signals: scarce } });
    const statuses = [];
    const paths = ['/oauth2/token', '/oauth2/introspect', '/backchannel-logout', '/scim/v2/Users', '/events'];
    for (const path of [...paths, ...paths, '/admin/agents', '/unknown', '/oauth2/revoke', '/scimitar']) {
      const connection = await scene.connection();
      const before = scene.held.length;
      connection.send(get(path));
      await eventually(() => scene.held.length > before || connection.received() !== '');
      statuses.push(connection.received().slice(9, 12));
    }
    expect(statuses).to.deep.equal([...Array(5).fill(''), ...Array(9).fill('429')]);
  });

  it('answers all the same, and soon, when the record cannot be written, and logs a fault that nobody expects', async () => {
    let fail: (error: Error) => void = () => undefined;
    const record = () => new Promise<void>((_resolve, reject) => (fail = reject));
    scene = await open({ rates: { main: { permitsPerMinute: 1, burst: 1 } }, record });
    const [first, second] = [await scene.connection(), await scene.connection()];
    first.send(get('/a'));
    await scene.come(1);
    second.send(get('/b'));
    expect(await second.until('}')).to.include('HTTP/1.1 429');
    fail(new TypeError('secret'));
    await eventually(() => scene.log.lines.length > 0);
    expect(scene.log.lines.join()).to.include('a refusal could not be recorded').and.not.include('secret');
  });

  it('says in the log how many it refused, each second and not each time', async () => {
    scene = await open({ rates: { main: { permitsPerMinute: 60, burst: 1 } } });
    const connection = await scene.connection();
    connection.send(get('/a'));
    await scene.come(1);
    scene.held[0]?.response.end();
    const began = performance.now();
    connection.send(Array(7).fill(get('/oauth2/token')).join(''));
    const lines = () => scene.log.lines.map((line) => JSON.parse(line));
    await eventually(() => lines().reduce((sum, { count }) => sum + count, 0) === 7);
    // One, unless the machine stood still for a second between two of them.
    expect(performance.now() - began).to.be.at.least(lines().length * 990);
    for (const { count, ...line } of lines()) {
      expect(line).to.deep.equal({
        ...{ level: 'warn', message: 'requests were not let in', surface: 'oauth', reason: 'rate_limited' },
      });
    }
  });
});
