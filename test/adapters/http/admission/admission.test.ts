/** The concurrency limits of admission control. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { limitConcurrency, workLimiters } from '../../../../adapters/http/admission/concurrency.ts';
import { readBody } from '../../../../adapters/http/message/body.ts';
import { routeTable, works } from '../../../../adapters/http/routes.ts';
import { ANSWERED, type Fixture, get, open, PATHS, REFUSED } from '../../../support/admission.ts';
import { eventually } from '../../../support/eventually.ts';
import { formPost, type RawConnection, rawConnection } from '../../../support/raw-http.ts';

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
      limit(request, response, routeTable()('/oauth2/introspect'), next(response));
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
