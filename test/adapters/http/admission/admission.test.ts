/** The door over real HTTP, with an application behind it that answers when it is told to. */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { type AdmissionControl, admission, type UnreadDoor } from '../../../../adapters/http/admission/admission.ts';
import { parseNetwork } from '../../../../adapters/http/admission/network.ts';
import { overload, type WorkTurns, workTurns } from '../../../../adapters/http/admission/overload.ts';
import type { RateLimitRules } from '../../../../adapters/http/admission/rate-limit.ts';
import { HEALTH, requestKind, type Work, works } from '../../../../adapters/http/admission/request-kind.ts';
import type { BucketRules } from '../../../../adapters/http/admission/token-buckets.ts';
import { readBody } from '../../../../adapters/http/body.ts';
import type { AnonymousDenials } from '../../../../application/ledger/anonymous-denials.ts';
import type { AnonymousDenial } from '../../../../domain/ledger/aggregation.ts';
import { type CapturedLog, capturedLog } from '../../../support/captured-log.ts';
import { eventually } from '../../../support/eventually.ts';
import { readAnswers } from '../../../support/hostile/raw-conversation.ts';
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
  readonly turns: WorkTurns;
  /** Requests that have come to the application and have not been answered, by path. */
  readonly held: { readonly path: string; readonly request: IncomingMessage; readonly response: ServerResponse }[];
  readonly unread: UnreadDoor | undefined;
  readonly server: Server;
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
  const turns = workTurns({ waitMs: 30_000, ...(limits ?? { concurrency: 1, queue: 0 }) });
  const held: Scene['held'][number][] = [];
  const connections: RawConnection[] = [];
  const control: AdmissionControl = {
    rates: rates && { main: LAVISH, introspection: LAVISH, signals: LAVISH, trustedProxies: [], ...rates },
    turns: limits && turns,
    denials: {
      record(denial) {
        records.push(denial);
        return isCounted ? undefined : (record?.(denial) ?? Promise.resolve());
      },
      count(denial) {
        if (isCounted) records.push(denial);
        return isCounted;
      },
    },
    clock,
    log,
  };
  const app = (request: IncomingMessage, response: ServerResponse): void => {
    held.push({ path: request.url ?? '', request, response });
  };
  const door = admission(control, app, (target) => target);
  // By itself node would leave whoever says nothing for five seconds.
  const server: Server = createServer({ keepAliveTimeout: 65_000 }, door.listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    ...{ url, clock, log, records, turns, held, server },
    unread: door.unread,
    come: (count) => eventually(() => held.length >= count),
    async connection() {
      const connection = await rawConnection(url);
      connections.push(connection);
      return connection;
    },
    async stop() {
      for (const connection of connections) connection.leave();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
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
    const takeTurn = overload(workTurns({ concurrency: 4, queue: 0, waitMs: 1000 }), { maxReading: 2 });
    let refused: (() => void) | undefined;
    const next = (response: ServerResponse) => ({
      serve: () => response.end('served'),
      refuse: () => {
        refused = () => response.end('refused');
      },
    });
    const kind = requestKind('/oauth2/introspect');
    if (kind === HEALTH) throw new Error('this is no health route');
    let begun = 0;
    const server = createServer((request, response) => {
      begun += 1;
      takeTurn(request, response, kind, next(response));
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

  it('begins what comes on a new connection a round later, so that others are accepted, and then at once', async () => {
    scene = await open({});
    const takeTurn = overload(workTurns({ concurrency: 4, queue: 0, waitMs: 1000 }));
    const kind = requestKind('/unknown');
    if (kind === HEALTH) throw new Error('this is no health route');
    const wereAtOnce: boolean[] = [];
    const server = createServer((request, response) => {
      let isAtOnce = true;
      const serve = () => {
        wereAtOnce.push(isAtOnce);
        response.end('served');
      };
      takeTurn(request, response, kind, { serve, refuse: () => response.end('refused') });
      isAtOnce = false;
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const connection = await rawConnection(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    for (let nth = 1; nth <= 2; nth += 1) {
      connection.send(get('/unknown'));
      await eventually(() => connection.received().split('served').length > nth);
      // The rounds of the new connection are over.
      for (let round = 0; round < 3; round += 1) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(wereAtOnce).to.deep.equal([false, true]);
    connection.leave();
    server.close();
  });

  it('never limits health', async () => {
    scene = await open({ turns: { concurrency: 1, queue: 0 }, rates: { main: { permitsPerMinute: 1, burst: 1 } } });
    for (let count = 1; count <= 5; count += 1) {
      const connection = await scene.connection();
      connection.send(get(count % 2 === 0 ? '/healthz' : '/readyz?verbose'));
      await scene.come(count);
    }
    expect(scene.turns.other.busy).to.equal(0);
  });

  it('lets the next in line work as soon as an answer is out, in the order they came', async () => {
    scene = await open({ turns: { concurrency: 1, queue: 2 } });
    const connections = [];
    for (const path of ['/a', '/b', '/c']) {
      const connection = await scene.connection();
      connections.push(connection);
      connection.send(get(path));
      await eventually(() => scene.turns.other.busy + scene.turns.other.waiting === connections.length);
    }
    for (const [at, connection] of connections.entries()) {
      await scene.come(at + 1);
      expect(scene.held.map(({ path }) => path)).to.deep.equal(['/a', '/b', '/c'].slice(0, at + 1));
      scene.held[at]?.response.end('done');
      expect(await connection.until('done')).to.include(ANSWERED);
    }
    await eventually(() => scene.turns.other.busy === 0);
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
    await eventually(() => scene.turns.other.waiting === 1);
    leaver.leave();
    await eventually(() => scene.turns.other.waiting === 0);
    next.send(get('/next'));
    await eventually(() => scene.turns.other.waiting === 1);
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
    await eventually(() => scene.turns.other.busy === 0);
    // What the application then answers all the same goes nowhere, and gives nothing back a second time.
    scene.held[0]?.response.end();
    const next = await scene.connection();
    next.send(get('/next'));
    await scene.come(2);
    expect(scene.turns.other).to.include({ busy: 1, waiting: 0 });
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
    await eventually(() => scene.turns.token.busy === 0);
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
    expect(scene.turns.token.busy).to.equal(1);
  });

  it('takes requests that were sent together one after another, and none whose sender has left', async () => {
    scene = await open({ turns: { concurrency: 5, queue: 5 } });
    const together = await scene.connection();
    together.send(get('/a') + get('/b') + get('/c'));
    await scene.come(1);
    scene.held[0]?.response.end('a');
    await scene.come(2);
    expect(scene.turns.other.busy).to.equal(1);
    together.leave();
    await eventually(() => scene.turns.other.busy === 0);
    expect(scene.held.map(({ path }) => path)).to.deep.equal(['/a', '/b']);
  });

  it('keeps only so many requests that were sent together, and answers all of them in their order', async () => {
    scene = await open({ turns: { concurrency: 5, queue: 5 } });
    const together = await scene.connection();
    together.send(Array.from({ length: 40 }, (_, at) => get(`/${at}`)).join(''));
    for (let at = 0; at < 17; at += 1) {
      await scene.come(at + 1);
      scene.held[at]?.response.end(`answer ${at}`);
    }
    await eventually(() => (together.received().match(/HTTP\/1.1 503/g) ?? []).length === 23);
    const statuses = [...together.received().matchAll(/HTTP\/1.1 (\d+)/g)].map((match) => match[1]);
    expect(statuses).to.deep.equal([...Array(17).fill('200'), ...Array(23).fill('503')]);
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

  it('leaves whoever sends the rest of a short body never, soon after the answer', async () => {
    const connection = await withoutPermits();
    const began = performance.now();
    connection.send('POST /admin/agents HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nsome of it');
    await connection.until('slow_down');
    await once(connection.socket, 'close');
    // Node's own limit for a request is minutes long.
    expect(performance.now() - began).to.be.within(1_500, 20_000);
    expect(scene.held).to.have.lengthOf(1);
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

describe('The door, when nobody has read a request yet', () => {
  let scene: Scene;
  afterEach(() => scene.stop());

  const from = (remoteAddress: string, url: string, headers: Readonly<Record<string, string>> = {}) =>
    scene.unread?.turnAway({ url, headers, socket: { remoteAddress } })?.reason;
  /** Nobody else is served until it has been. */
  const takeTheTurn = async (path: string) => {
    const connection = await scene.connection();
    connection.send(get(path));
    await scene.come(scene.held.length + 1);
  };

  it('refuses what has no turn, of its own kind of work alone, in the words that the listener has for it', async () => {
    scene = await open({ turns: { concurrency: 1, queue: 0 }, isCounted: true });
    for (const path of ['/oauth2/token', '/scim/v2/Users', '/events', '/audit', '/backchannel-logout']) {
      expect(from('127.0.0.1', path), path).to.equal(undefined);
    }
    await takeTheTurn('/oauth2/token');
    await takeTheTurn('/scim/v2/Users');
    expect(from('127.0.0.1', '/audit')).to.equal(undefined);
    for (const path of ['/oauth2/token', '/scim/v2/Users', '/events', '/admin/agents', '/backchannel-logout']) {
      const early = scene.unread?.turnAway({ url: path, headers: {}, socket: { remoteAddress: '127.0.0.1' } });
      const connection = await scene.connection();
      connection.send(get(path));
      await connection.until('}');
      const [answer] = readAnswers(connection.received());
      const [same] = readAnswers(`${early?.answer.head}\r\n${early?.answer.body}`);
      expect(answer?.status).to.equal(503);
      expect([same?.status, same?.body]).to.deep.equal([answer?.status, answer?.body]);
      const ofConnection = ['date', 'connection', 'keep-alive'];
      expect([...(same?.headers ?? [])]).to.deep.equal(
        [...(answer?.headers ?? [])].filter(([name]) => !ofConnection.includes(name)),
      );
    }
  });

  it('has little begun in a round where a new connection was refused as well, so that others are accepted', async () => {
    scene = await open({ turns: { concurrency: 1, queue: 0 }, isCounted: true });
    await takeTheTurn('/oauth2/token');
    const known = await scene.connection();
    const isBegunAtOnce = async (): Promise<boolean> => {
      const before = scene.held.length;
      let isAtOnce = false;
      scene.server.once('request', () => {
        isAtOnce = scene.held.length > before;
      });
      known.send(get('/audit'));
      await scene.come(before + 1);
      scene.held.at(-1)?.response.end('done');
      await eventually(() => scene.turns.other.busy === 0);
      // The rounds of a new connection are over.
      for (let round = 0; round < 3; round += 1) await new Promise((resolve) => setImmediate(resolve));
      return isAtOnce;
    };
    const refused = { url: '/oauth2/token', headers: {}, socket: { remoteAddress: '127.0.0.1' } };
    const refuseFirst = () => scene.server.prependOnceListener('request', () => void scene.unread?.turnAway(refused));
    await isBegunAtOnce();
    expect(await isBegunAtOnce()).to.equal(true);
    refuseFirst();
    expect(await isBegunAtOnce()).to.equal(false);
    refuseFirst();
    expect(await isBegunAtOnce()).to.equal(true);
  });

  it('refuses what has no permit, by where it comes from, and takes none for asking', async () => {
    const proxy = parseNetwork('127.0.0.1/32');
    if (typeof proxy === 'string') throw new Error(proxy);
    scene = await open({
      rates: { main: { permitsPerMinute: 60, burst: 2 }, trustedProxies: [proxy] },
      isCounted: true,
    });
    for (let asked = 0; asked < 5; asked += 1) expect(from('127.0.0.1', '/a')).to.equal(undefined);
    await takeTheTurn('/a');
    await takeTheTurn('/a');
    expect(from('127.0.0.1', '/a')).to.equal('rate_limited');
    expect(from('127.0.0.1', '/oauth2/introspect')).to.equal(undefined);
    expect(from('127.0.0.1', '/a', { 'x-forwarded-for': '192.0.2.1' })).to.equal(undefined);
    expect(from('192.0.2.9', '/a')).to.equal(undefined);
    scene.clock.advance(1);
    expect(from('127.0.0.1', '/a')).to.equal(undefined);
    expect(scene.records).to.deep.equal([{ event: 'token.denied', reason: 'rate_limited' }]);
  });

  it('takes no permit that comes in the very moment of refusing', async () => {
    scene = await open({ rates: { main: { permitsPerMinute: 60, burst: 1 } }, isCounted: true });
    await takeTheTurn('/a');
    const remoteAddress = '127.0.0.1';
    const asked = {
      ...{ url: '/a', headers: {} },
      socket: {
        get remoteAddress() {
          scene.clock.advance(0.5);
          return remoteAddress;
        },
      },
    };
    expect(scene.unread?.turnAway(asked)?.reason).to.equal('rate_limited');
    scene.clock.advance(0.5);
    expect(from(remoteAddress, '/a')).to.equal(undefined);
  });

  it('takes a permit of whoever has no turn, as it would from whoever waits for one', async () => {
    const rates = { main: { permitsPerMinute: 60, burst: 3 } };
    scene = await open({ turns: { concurrency: 1, queue: 0 }, rates, isCounted: true });
    await takeTheTurn('/oauth2/token');
    const reasons = Array.from({ length: 4 }, () => from('127.0.0.1', '/oauth2/token'));
    expect(reasons).to.deep.equal(['overloaded', 'overloaded', 'rate_limited', 'rate_limited']);
    expect(scene.records.map(({ reason }) => reason)).to.deep.equal(reasons);
  });

  it('leaves to the listener what is to be written first, and has not counted, told or taken anything by then', async () => {
    const rates = { main: { permitsPerMinute: 60, burst: 2 } };
    scene = await open({ turns: { concurrency: 1, queue: 0 }, rates });
    await takeTheTurn('/oauth2/token');
    for (let asked = 0; asked < 5; asked += 1) expect(from('127.0.0.1', '/oauth2/token')).to.equal(undefined);
    const connection = await scene.connection();
    connection.send(get('/oauth2/token'));
    expect(await connection.until('}')).to.include('at capacity');
    expect(scene.records).to.deep.equal([{ event: 'token.denied', reason: 'overloaded' }]);
  });

  it('never refuses a health check, and nothing where everybody is let in', async () => {
    scene = await open({ rates: { main: { permitsPerMinute: 60, burst: 1 } }, isCounted: true });
    await takeTheTurn('/a');
    expect(['/a', '/healthz', '/readyz'].map((path) => from('127.0.0.1', path))).to.deep.equal([
      ...['rate_limited', undefined, undefined],
    ]);
    await scene.stop();
    scene = await open({});
    expect(scene.unread).to.equal(undefined);
  });

  it('says in the log how many there were', async () => {
    scene = await open({ rates: { main: { permitsPerMinute: 60, burst: 1 } }, isCounted: true });
    await takeTheTurn('/a');
    for (let sent = 0; sent < 5; sent += 1) from('127.0.0.1', '/oauth2/token');
    await eventually(() => scene.log.lines.length > 0);
    expect(scene.log.lines.map((line) => JSON.parse(line))).to.deep.equal([
      { level: 'warn', message: 'requests were not let in', surface: 'oauth', reason: 'rate_limited', count: 5 },
    ]);
  });
});
