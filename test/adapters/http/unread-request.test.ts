/** What is taken for a request without node's parser: only what that would read in exactly the same way. */

import { createServer, type IncomingMessage } from 'node:http';
import { Duplex } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import fc from 'fast-check';
import { readUnread } from '../../../adapters/http/unread-request.ts';
import { FRAMINGS } from '../../support/hostile/framings.ts';

const BODY = 'token=something-short';
const HEAD = `POST /oauth2/token HTTP/1.1\r\nHost: mandate.test\r\nContent-Type: application/x-www-form-urlencoded\r\n`;
const WHOLE = `${HEAD}Content-Length: ${BODY.length}\r\n\r\n${BODY}`;
const read = (text: string) => readUnread(Buffer.from(text, 'latin1'));
const withHeader = (line: string) => WHOLE.replace('\r\n', `\r\n${line}\r\n`);

describe('A request that nobody has read', () => {
  it('is known by its target and by whom it was forwarded for, with what is missing of its body', () => {
    const whole = read(WHOLE);
    expect(whole).to.deep.include({ method: 'POST', url: '/oauth2/token', headers: {}, missing: 0 });
    expect(whole?.rawHeaders.slice(0, 2)).to.deep.equal(['Host', 'mandate.test']);
    expect(read(WHOLE.slice(0, -5))).to.deep.equal({ ...whole, missing: 5 });
    expect(read('GET /audit?limit=1 HTTP/1.1\r\nhost:x\r\nConnection:  Keep-Alive \r\n\r\n')).to.deep.equal({
      ...{ method: 'GET', url: '/audit?limit=1', headers: {}, missing: 0 },
      rawHeaders: ['host', 'x', 'Connection', 'Keep-Alive'],
    });
    const forwarded = withHeader('X-Forwarded-For: 192.0.2.1, 192.0.2.2\r\nx-forwarded-for:192.0.2.3 ');
    expect(read(forwarded)?.headers).to.deep.equal({ 'x-forwarded-for': '192.0.2.1, 192.0.2.2, 192.0.2.3' });
  });

  it('is left to the parser where it is not all of it, or not alone', () => {
    for (const text of ['', HEAD, WHOLE.slice(0, HEAD.length + 10), `${WHOLE}G`, WHOLE + WHOLE, `\r\n${WHOLE}`]) {
      expect(read(text), JSON.stringify(text)).to.equal(undefined);
    }
  });

  for (const [what, framing, chunks = false] of FRAMINGS) {
    it(`is left to the parser with ${what}`, () => {
      const body = chunks ? `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n` : BODY;
      for (const path of ['/oauth2/token', '/admin/agents']) {
        const head = HEAD.replace('/oauth2/token', path);
        expect(read(`${head}${framing(BODY.length)}\r\n\r\n${body}`)).to.equal(undefined);
      }
    });
  }

  for (const line of [
    ...['Transfer-Encoding: chunked', 'transfer-encoding: identity', 'Expect: 100-continue', 'Upgrade: h2c'],
    ...['Connection: close', 'Connection: keep-alive, close', 'Connection: upgrade', 'Proxy-Connection: close'],
    ...['Host: other.test', 'Host: ', 'X-Any: \xe4', 'X Any: a', 'X-Any : a', 'X-Any', ' folded', 'X-Any: a\tb'],
  ]) {
    it(`is left to the parser with "${line}"`, () => {
      expect(read(withHeader(line))).to.equal(undefined);
    });
  }

  for (const start of [
    ...['HEAD /x HTTP/1.1', 'OPTIONS /x HTTP/1.1', 'CONNECT x:1 HTTP/1.1', 'TRACE /x HTTP/1.1', 'post /x HTTP/1.1'],
    ...[
      'POST /x HTTP/1.0',
      'POST /x HTTP/2.0',
      'POST /x',
      'POST  /x HTTP/1.1',
      'POST /x  HTTP/1.1',
      'POST /x\tHTTP/1.1',
    ],
    ...['POST http://x/ HTTP/1.1', 'POST * HTTP/1.1', 'POST /a/../b HTTP/1.1', 'POST /%2e%2e/b HTTP/1.1'],
    ...['POST /a#b HTTP/1.1', 'POST /a\\b HTTP/1.1', `POST /${'a'.repeat(8192)} HTTP/1.1`],
  ]) {
    it(`is left to the parser when it begins with ${start.slice(0, 40)}`, () => {
      expect(read(WHOLE.replace('POST /oauth2/token HTTP/1.1', start))).to.equal(undefined);
    });
  }

  it('is left to the parser with no host, with too many headers, and with a long head', () => {
    expect(read(WHOLE.replace('Host: mandate.test\r\n', ''))).to.equal(undefined);
    expect(read(withHeader(Array(101).fill('X-Any: a').join('\r\n')))).to.equal(undefined);
    expect(read(withHeader(`X-Any: ${'a'.repeat(9000)}`))).to.equal(undefined);
  });

  it('ends where it ends for the parser, whatever is done to it', async () => {
    let taken = 0;
    const piece = fc.constantFrom(
      ...[
        '\r',
        '\n',
        '\r\n',
        '\r\n\r\n',
        ' ',
        '\t',
        ':',
        ',',
        '\0',
        '\x0b',
        '\x7f',
        '\xe4',
        '0',
        '1',
        'x',
        '/',
        '?',
        '#',
      ],
      ...['Content-Length: 3\r\n', 'Transfer-Encoding: chunked\r\n', 'Connection: close\r\n', 'X-Any: a\r\n', WHOLE],
      ...['X-Forwarded-For: 192.0.2.1\r\n', 'x-forwarded-for:192.0.2.2\r\n'],
    );
    const change = fc.record({
      at: fc.nat(WHOLE.length),
      removed: fc.nat(3),
      inserted: fc.oneof(piece, fc.constant('')),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(change, { maxLength: 3 }), async (changes) => {
        let text = WHOLE;
        for (const { at, removed, inserted } of changes) text = text.slice(0, at) + inserted + text.slice(at + removed);
        const unread = read(text);
        if (unread === undefined) return;
        taken += 1;
        const canary = 'GET /canary HTTP/1.1\r\nHost: x\r\n\r\n';
        const requests = await requestsByNode(`${text}${'x'.repeat(unread.missing)}${canary}`);
        const [first, second] = requests.map(({ method, url, rawHeaders }) => ({ method, url, rawHeaders }));
        const { method, url, rawHeaders, headers } = unread;
        expect(requests).to.have.lengthOf(2);
        expect(first).to.deep.equal({ method, url, rawHeaders });
        expect(requests[0]?.headers['x-forwarded-for']).to.equal(headers['x-forwarded-for']);
        expect(second?.url).to.equal('/canary');
      }),
      { numRuns: 3000 },
    );
    // Otherwise it would say nothing.
    expect(taken).to.be.above(300);
  });
});

/** All requests that node's parser takes to be whole. */
async function requestsByNode(text: string): Promise<readonly IncomingMessage[]> {
  const requests: IncomingMessage[] = [];
  const server = createServer({ requireHostHeader: false, insecureHTTPParser: false }, (request, response) => {
    request.on('end', () => requests.push(request)).resume();
    response.end();
  });
  const connection = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
  server.on('clientError', () => connection.destroy());
  server.emit('connection', connection);
  connection.push(Buffer.from(text, 'latin1'));
  for (let turn = 0; turn < 4; turn += 1) await nextTurn();
  connection.destroy();
  server.close();
  return requests;
}
