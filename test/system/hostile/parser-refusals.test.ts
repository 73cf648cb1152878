/** Bytes that are not HTTP. They get a fixed refusal and a closed connection, and fill no log. */

import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { sqliteFile } from '../../support/databases.ts';
import { effectsOf, expectNoEffect, expectRefused } from '../../support/hostile/no-effect.ts';
import { sendBytes } from '../../support/hostile/send-bytes.ts';
import { type Mandate, startMandate } from '../../support/mandate.ts';
import { rawConnection } from '../../support/raw-http.ts';

const SECRET = 'task_grant_that-nobody-should-read-again';
const MANY = 200;

describe('A malformed request', () => {
  let mandate: Mandate;
  /** An instance whose time limits are short enough for a test. */
  let hasty: Mandate;
  before(async () => {
    const options = { database: sqliteFile, settings: { 'Service:Audit:Aggregation:Enabled': 'false' } };
    mandate = await startMandate(options);
    const timeLimits = { headMs: 300, requestMs: 600, idleMs: 30_000, checkMs: 50 };
    hasty = await startMandate({ ...options, timeLimits });
  });
  after(async () => {
    await mandate.stop();
    await hasty.stop();
  });

  it('gets a fixed refusal at once, which repeats none of its text', function () {
    // Retries, because a busy machine may exceed the time limit.
    this.retries(2);
    return expectNoEffect(mandate, async () => {
      for (const [sent, status] of [
        [`${SECRET}\r\n\r\n`, 400],
        [`GET /${SECRET} HTTP/${SECRET}\r\n\r\n`, 400],
        [`GET / HTTP/1.1\r\n${SECRET}\r\n\r\n`, 400],
        [`GET / HTTP/1.1\r\nHost: ${SECRET}/\r\n\r\n`, 400],
        [`GET /${SECRET.repeat(600)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
        [`GET / HTTP/1.1\r\nHost: x\r\nAuthorization: ${SECRET.repeat(600)}\r\n\r\n`, 431],
        [`SSH-2.0-${SECRET}\r\n`, 400],
        ['\r\n'.repeat(2000) + SECRET, 400],
      ] as const) {
        const conversation = await sendBytes(mandate.url, sent);
        expectRefused(conversation, status);
        expect(conversation.text).not.to.include(SECRET.slice(0, 16));
        expect(conversation.tookMs).to.be.below(1500);
      }
      expect(mandate.log.lines.join('')).not.to.include(SECRET.slice(0, 16));
    });
  });

  it('of random bytes gets a refusal', () =>
    expectNoEffect(hasty, async () => {
      await Promise.all(
        Array.from({ length: 60 }, async (_, size) => {
          const { text, end } = await sendBytes(hasty.url, randomBytes(1 + size * 11).toString('latin1'));
          // If the bytes may be the beginning of a request, the service waits for the rest until its time limit.
          expect(text).to.match(/^HTTP\/1\.1 4(00|08|31) /);
          expect(end).to.equal('closed');
        }),
      );
    }));

  it('that its client does not complete has no effect', async () => {
    const { records } = await effectsOf(mandate, async () => {
      for (const sent of [
        'GET /healthz HTTP/1.1\r\nHost: x\r\n',
        'POST /oauth2/introspect HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 99\r\n\r\ntoken=x',
      ]) {
        const connection = await rawConnection(mandate.url);
        connection.socket.end(sent);
        expect(await connection.until('\r\n\r\n')).to.match(/^(HTTP\/1\.1 400 |$)/);
        connection.leave();
      }
    });
    expect(records).to.deep.equal([]);
  });

  it('is read for some time after its refusal, so that the client receives the response', async () => {
    const { text } = await sendBytes(hasty.url, `nonsense ${'x'.repeat(300_000)}`);
    expect(text).to.match(/^HTTP\/1\.1 400 /);
    const endless = await rawConnection(hasty.url);
    const began = performance.now();
    endless.send('nonsense\r\n\r\n');
    const timer = setInterval(() => endless.send('x'.repeat(100)), 25);
    await new Promise((resolve) => endless.socket.once('close', resolve));
    clearInterval(timer);
    expect(performance.now() - began).to.be.below(4000);
  });

  it(`is logged in at most one line a second, not in one for each of ${MANY}`, async () => {
    await new Promise((resolve) => setTimeout(resolve, 1100));
    mandate.log.lines.splice(0);
    for (let sent = 0; sent < MANY; sent += 20) {
      await Promise.all(Array.from({ length: 20 }, () => sendBytes(mandate.url, `${SECRET}\r\n\r\n`)));
    }
    await new Promise((resolve) => setTimeout(resolve, 1100));
    const lines = mandate.log.lines.map((line) => JSON.parse(line));
    expect(new Set(lines.map(({ level, message, reason }) => `${level} ${message} ${reason}`))).to.deep.equal(
      new Set(['warn a client broke the protocol malformed']),
    );
    expect(lines.reduce((sum, { count }) => sum + count, 0)).to.equal(MANY);
    expect(lines.length).to.be.below(MANY / 10);
  });
});
