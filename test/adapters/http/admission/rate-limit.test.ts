/** The rate limit of admission control. */

import { expect } from 'chai';
import { type Fixture, type Given, get, open } from '../../../support/admission.ts';
import { eventually } from '../../../support/eventually.ts';
import { formPost, type RawConnection } from '../../../support/raw-http.ts';

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
