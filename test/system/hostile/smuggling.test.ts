/**
 * Request smuggling: a proxy and the service could find the end of such a message in different places. Each request
 * carries the admin key, a valid registration and a second registration behind it. One that reached its handler would
 * leave a record.
 */

import { expect } from 'chai';
import { sqliteFile } from '../../support/databases.ts';
import {
  ADMIN_HEADERS,
  effectsOf,
  expectNoEffect,
  expectRefused,
  registration,
  wholeRegistration,
} from '../../support/hostile/no-effect.ts';
import { sendBytes } from '../../support/hostile/send-bytes.ts';
import { fieldsOf, type Mandate, startMandate } from '../../support/mandate.ts';

const hex = (text: string) => text.length.toString(16);
const chunked = (text: string) => `${hex(text)}\r\n${text}\r\n0\r\n\r\n`;
const post = (framing: string, body: string, version = '1.1') =>
  `POST /admin/agents HTTP/${version}\r\n${ADMIN_HEADERS}${framing}\r\n\r\n${body}`;

/** Heads with an ambiguous end of the message (RFC 9112 §6.3, §11.2): the headers for a body of this length. */
const FRAMINGS: readonly (readonly [what: string, framing: (length: number) => string, chunks?: boolean])[] = [
  ['Content-Length and Transfer-Encoding', (n) => `Content-Length: ${n}\r\nTransfer-Encoding: chunked`, true],
  ['Transfer-Encoding and Content-Length', (n) => `Transfer-Encoding: chunked\r\nContent-Length: ${n}`, true],
  ['Transfer-Encoding and Content-Length: 0', () => 'Transfer-Encoding: chunked\r\nContent-Length: 0', true],
  ...[
    ...['xchunked', 'chunked, identity', 'identity, chunked', 'identity', '', 'gzip, chunked', 'chunked, gzip', 'gzip'],
    ...[
      'chunked, chunked',
      '"chunked"',
      'chunked;q=1',
      'chunked,',
      ',chunked',
      '\x0bchunked',
      'chunked\0',
      'x chunked',
    ],
    ...['chunked', 'identity'].map((second) => `chunked\r\nTransfer-Encoding: ${second}`),
    ...['chunke\xe4', 'identity\r\nTransfer-Encoding: chunked'],
  ].map((value): [string, () => string, boolean] => [
    `Transfer-Encoding: ${JSON.stringify(value)}`,
    () => `Transfer-Encoding: ${value}`,
    true,
  ]),
  ['a space before the colon of Transfer-Encoding', () => 'Transfer-Encoding : chunked', true],
  ['a space before the colon of Content-Length', (n) => `Content-Length : ${n}`],
  ['a folded Transfer-Encoding', () => 'Transfer-Encoding:\r\n chunked', true],
  ['a folded Content-Length', (n) => `Content-Length:\r\n ${n}`],
  ['any folded header', (n) => `X-Any: a\r\n\tb\r\nContent-Length: ${n}`],
  ['a line that ends with LF', (n) => `X-Any: a\nContent-Length: ${n}`],
  ['a line that ends with CR', (n) => `X-Any: a\rContent-Length: ${n}`],
  ['a head that ends with LF', (n) => `Content-Length: ${n}\r\n\nX-Any: a`],
  ['NUL in a value', (n) => `X-Any: a\0b\r\nContent-Length: ${n}`],
  ['NUL in a name', (n) => `X-An\0y: a\r\nContent-Length: ${n}`],
  ['another control character in a value', (n) => `X-Any: a\x01b\r\nContent-Length: ${n}`],
  ['a non-ASCII byte in a name', (n) => `X-An\xff: a\r\nContent-Length: ${n}`],
  ['a line without a colon', (n) => `X-Any\r\nContent-Length: ${n}`],
  ['an empty header name', (n) => `: a\r\nContent-Length: ${n}`],
  ['two equal Content-Lengths', (n) => `Content-Length: ${n}\r\nContent-Length: ${n}`],
  ['two different Content-Lengths', (n) => `Content-Length: ${n}\r\nContent-Length: 0`],
  ['two Content-Lengths in the other order', (n) => `Content-Length: 0\r\nContent-Length: ${n}`],
  ...['+N', '-N', 'N,N', 'N, N', 'N N', '0xN', 'N.0', 'Ne0', '"N"', '', '18446744073709551616', '9'.repeat(400)].map(
    (value): [string, (n: number) => string] => [
      `Content-Length: ${value.slice(0, 30)}`,
      (n) => `Content-Length: ${value.replaceAll('N', String(n))}`,
    ],
  ),
];

/** Malformed chunked bodies after a well-formed head. */
const CHUNKS: readonly (readonly [what: string, body: (text: string) => string])[] = [
  ['the prefix 0x', (text) => `0x${chunked(text)}`],
  ['a plus sign', (text) => `+${chunked(text)}`],
  ['a minus sign', (text) => `-${chunked(text)}`],
  ['a space before the size', (text) => ` ${chunked(text)}`],
  ['a space after the size', (text) => `${hex(text)} \r\n${text}\r\n0\r\n\r\n`],
  ['an empty size', (text) => `\r\n${text}\r\n0\r\n\r\n`],
  ['a size of more than 64 bits', (text) => `1${hex(text).padStart(17, '0')}\r\n${text}\r\n0\r\n\r\n`],
  ['LF after the size', (text) => `${hex(text)}\n${text}\r\n0\r\n\r\n`],
  ['an extension that ends with LF', (text) => `${hex(text)};a\n${text}\r\n0\r\n\r\n`],
  ['an extension with CR', (text) => `${hex(text)};a\rb\r\n${text}\r\n0\r\n\r\n`],
  ['a size below the length of the data', (text) => `${hex(text.slice(1))}\r\n${text}\r\n0\r\n\r\n`],
  ['data without a line end', (text) => `${hex(text)}\r\n${text}0\r\n\r\n`],
  ['an end with LF', (text) => `${hex(text)}\r\n${text}\r\n0\r\n\n`],
  ['a trailer Content-Length', (text) => `${hex(text)}\r\n${text}\r\n0\r\nContent-Length: 9\r\n\r\n`],
  ['a trailer Transfer-Encoding', (text) => `${hex(text)}\r\n${text}\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n`],
  ['a malformed trailer', (text) => `${hex(text)}\r\n${text}\r\n0\r\nX Y: z\r\n\r\n`],
];

describe('The HTTP server', () => {
  let mandate: Mandate;
  before(async () => {
    mandate = await startMandate({ database: sqliteFile, settings: { 'Service:Audit:Aggregation:Enabled': 'false' } });
  });
  after(() => mandate.stop());

  for (const [what, framing, chunks = false] of FRAMINGS) {
    it(`refuses a request with ${what}, and reads nothing after it`, () =>
      expectNoEffect(mandate, async () => {
        const body = registration();
        const sent = post(framing(body.length), chunks ? chunked(body) : body) + wholeRegistration();
        expectRefused(await sendBytes(mandate.url, sent));
      }));
  }

  for (const [what, body] of CHUNKS) {
    it(`refuses a chunked body with ${what}, and reads nothing after it`, async () => {
      const reached = await effectsOf(
        mandate,
        async () => {
          const sent = post('Transfer-Encoding: chunked', body(registration())) + wholeRegistration();
          expectRefused(await sendBytes(mandate.url, sent));
        },
        1,
      );
      expect(reached).to.deep.equal({ records: [], served: ['POST /admin/agents aborted'] });
    });
  }

  for (const version of ['1.0', '0.9', '1.2', '2.0', '3.0', '1.10', '11']) {
    it(`refuses Transfer-Encoding in HTTP/${version}`, () =>
      expectNoEffect(mandate, async () => {
        const sent = post('Connection: keep-alive\r\nTransfer-Encoding: chunked', chunked(registration()), version);
        expectRefused(await sendBytes(mandate.url, sent + wholeRegistration()));
      }));
  }

  it('refuses HTTP/0.9', () =>
    expectNoEffect(mandate, async () => {
      for (const line of ['GET /admin/agents\r\n\r\n', 'GET /healthz HTTP/0.9\r\n\r\n', 'GET /healthz\r\n\r\n']) {
        expectRefused(await sendBytes(mandate.url, line + wholeRegistration()));
      }
    }));

  it('keeps an HTTP/1.0 connection open if the client requests it', async () => {
    const ask = (connection: string) => `GET /healthz HTTP/1.0\r\nConnection: ${connection}\r\n\r\n`;
    const { answers, end } = await sendBytes(mandate.url, ask('keep-alive') + ask('close'));
    expect(answers.map(({ status, body }) => [status, body])).to.deep.equal(
      [200, 200].map((status) => [status, 'Healthy']),
    );
    expect(end).to.equal('closed');
  });

  it('ignores chunk extensions and trailers up to 16 KiB', async () => {
    const reached = await effectsOf(
      mandate,
      async () => {
        const body = registration();
        const chunks = `${hex(body)};a=b;c="d"\r\n${body}\r\n0;e\r\nX-Checksum: none\r\n\r\n`;
        const { answers } = await sendBytes(
          mandate.url,
          post('Connection: close\r\nTransfer-Encoding: chunked', chunks),
        );
        expect(answers.map(({ status }) => status)).to.deep.equal([201]);
      },
      1,
    );
    expect(reached.served).to.deep.equal(['POST /admin/agents 201']);
    const large = await effectsOf(
      mandate,
      async () => {
        const body = registration();
        const chunks = `${hex(body)};a=${'b'.repeat(20_000)}\r\n${body}\r\n0\r\n\r\n`;
        expectRefused(
          await sendBytes(mandate.url, post('Transfer-Encoding: chunked', chunks) + wholeRegistration()),
          413,
        );
      },
      1,
    );
    expect(large).to.deep.equal({ records: [], served: ['POST /admin/agents aborted'] });
  });

  it('ignores a credential in a trailer', async () => {
    const { records, served } = await effectsOf(
      mandate,
      async () => {
        const body = registration();
        const [host = ''] = ADMIN_HEADERS.split('\r\n');
        const key = ADMIN_HEADERS.split('\r\n').slice(1, 2).join('');
        const chunks = `${hex(body)}\r\n${body}\r\n0\r\n${key}\r\n\r\n`;
        const head = `POST /admin/agents HTTP/1.1\r\n${host}\r\nConnection: close\r\nTransfer-Encoding: chunked`;
        const { answers } = await sendBytes(mandate.url, `${head}\r\nContent-Type: application/json\r\n\r\n${chunks}`);
        expect(answers.map(({ status }) => status)).to.deep.equal([401]);
      },
      1,
    );
    expect(served).to.deep.equal(['POST none 401']);
    expect(fieldsOf(records, 'event', 'reason')).to.deep.equal([['admin.denied', 'missing_api_key']]);
  });

  it('upgrades to no other protocol', async () => {
    for (const protocol of ['websocket', 'h2c', 'TLS/1.0']) {
      const upgrade = `Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: ${protocol}\r\nHTTP2-Settings: AAMAAABk\r\n`;
      const sent = `GET /admin/agents HTTP/1.1\r\nHost: mandate.test\r\n${upgrade}\r\n`;
      const { answers } = await sendBytes(mandate.url, sent);
      expect(answers.map(({ status }) => status)).to.deep.equal([401]);
      expect(answers[0]?.headers.has('upgrade')).to.equal(false);
    }
    await expectNoEffect(mandate, async () => {
      expectRefused(await sendBytes(mandate.url, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'));
      expectRefused(await sendBytes(mandate.url, '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'));
    });
  });

  it('answers pipelined requests in order, even if it refuses one of them', async () => {
    const ask = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;
    const sent = [
      ask('/healthz'),
      wholeRegistration(),
      ask('/admin/agents'),
      ask('/nothing-here'),
      'POST /oauth2/introspect HTTP/1.1\r\nHost: x\r\nContent-Length: 7\r\n\r\ntoken=x',
      wholeRegistration(),
      ask('/healthz', 'Connection: close\r\n'),
    ];
    const { records } = await effectsOf(mandate, async () => {
      const { answers, end } = await sendBytes(mandate.url, sent.join(''));
      expect(answers.map(({ status }) => status)).to.deep.equal([200, 201, 401, 404, 400, 201, 200]);
      expect(end).to.equal('closed');
    });
    expect(fieldsOf(records, 'event', 'reason')).to.deep.equal([
      ['agent.registered', null],
      ['admin.denied', 'missing_api_key'],
      ['token.denied', 'invalid_request'],
      ['agent.registered', null],
    ]);
  });

  for (const [what, bad] of [
    ['a malformed request', 'nonsense\r\n\r\n'],
    ['a request with an absolute target', 'GET http://mandate.test/admin/agents HTTP/1.1\r\nHost: x\r\n\r\n'],
  ] as const) {
    it(`answers the requests before ${what}, refuses it, and reads nothing after it`, async () => {
      const { records, served } = await effectsOf(
        mandate,
        async () => {
          const sent = wholeRegistration() + wholeRegistration() + bad + wholeRegistration();
          const { answers, end } = await sendBytes(mandate.url, sent);
          expect(answers.map(({ status }) => status)).to.deep.equal([201, 201, 400]);
          expect(answers.map(({ headers }) => headers.get('connection'))).to.deep.equal([
            'keep-alive',
            'keep-alive',
            'close',
          ]);
          expect(end).to.equal('closed');
        },
        2,
      );
      expect(served).to.have.length(2);
      expect(records.map(({ event }) => event)).to.deep.equal(['agent.registered', 'agent.registered']);
    });
  }
});
