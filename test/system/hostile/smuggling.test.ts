/**
 * Request smuggling: messages whose end two readers in a chain may see in different places. Each carries the admin key
 * and a registration, and another one behind it: what is reached leaves a record.
 */

import { expect } from 'chai';
import { sqliteFile } from '../../support/databases.ts';
import { FRAMINGS } from '../../support/hostile/framings.ts';
import { converse } from '../../support/hostile/raw-conversation.ts';
import {
  ADMIN_HEADERS,
  expectRefused,
  expectUntouched,
  reachedBy,
  registration,
  wholeRegistration,
} from '../../support/hostile/untouched.ts';
import { type Mandate, startMandate } from '../../support/mandate.ts';

const hex = (text: string) => text.length.toString(16);
const chunked = (text: string) => `${hex(text)}\r\n${text}\r\n0\r\n\r\n`;
const post = (framing: string, body: string, version = '1.1') =>
  `POST /admin/agents HTTP/${version}\r\n${ADMIN_HEADERS}${framing}\r\n\r\n${body}`;

/** Heads that are well-formed, with a body that is not: what its handler waits for does not come. */
const CHUNKS: readonly (readonly [what: string, body: (text: string) => string])[] = [
  ['0x', (text) => `0x${chunked(text)}`],
  ['+', (text) => `+${chunked(text)}`],
  ['-', (text) => `-${chunked(text)}`],
  ['a space before it', (text) => ` ${chunked(text)}`],
  ['a space after it', (text) => `${hex(text)} \r\n${text}\r\n0\r\n\r\n`],
  ['nothing', (text) => `\r\n${text}\r\n0\r\n\r\n`],
  ['more than 64 bits', (text) => `1${hex(text).padStart(17, '0')}\r\n${text}\r\n0\r\n\r\n`],
  ['LF alone behind it', (text) => `${hex(text)}\n${text}\r\n0\r\n\r\n`],
  ['an extension that ends in LF alone', (text) => `${hex(text)};a\n${text}\r\n0\r\n\r\n`],
  ['an extension with CR in it', (text) => `${hex(text)};a\rb\r\n${text}\r\n0\r\n\r\n`],
  ['less than there is', (text) => `${hex(text.slice(1))}\r\n${text}\r\n0\r\n\r\n`],
  ['no line end behind the data', (text) => `${hex(text)}\r\n${text}0\r\n\r\n`],
  ['an end of LF alone', (text) => `${hex(text)}\r\n${text}\r\n0\r\n\n`],
  ['a trailer that says Content-Length', (text) => `${hex(text)}\r\n${text}\r\n0\r\nContent-Length: 9\r\n\r\n`],
  [
    'a trailer that says Transfer-Encoding',
    (text) => `${hex(text)}\r\n${text}\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n`,
  ],
  ['a trailer that is no header', (text) => `${hex(text)}\r\n${text}\r\n0\r\nX Y: z\r\n\r\n`],
];

describe('request smuggling', () => {
  let mandate: Mandate;
  before(async () => {
    mandate = await startMandate({ database: sqliteFile, settings: { 'Service:Audit:Aggregation:Enabled': 'false' } });
  });
  after(() => mandate.stop());

  for (const [what, framing, chunks = false] of FRAMINGS) {
    it(`is refused, and nothing behind it is read: ${what}`, () =>
      expectUntouched(mandate, async () => {
        const body = registration();
        const sent = post(framing(body.length), chunks ? chunked(body) : body) + wholeRegistration();
        expectRefused(await converse(mandate.url, sent));
      }));
  }

  for (const [what, body] of CHUNKS) {
    it(`is refused where a chunk's size or end is wrong: ${what}`, async () => {
      const reached = await reachedBy(
        mandate,
        async () => {
          const sent = post('Transfer-Encoding: chunked', body(registration())) + wholeRegistration();
          expectRefused(await converse(mandate.url, sent));
        },
        1,
      );
      expect(reached).to.deep.equal({ records: [], served: ['POST /admin/agents aborted'] });
    });
  }

  for (const version of ['1.0', '0.9', '1.2', '2.0', '3.0', '1.10', '11']) {
    it(`is refused with Transfer-Encoding in HTTP/${version}`, () =>
      expectUntouched(mandate, async () => {
        const sent = post('Connection: keep-alive\r\nTransfer-Encoding: chunked', chunked(registration()), version);
        expectRefused(await converse(mandate.url, sent + wholeRegistration()));
      }));
  }

  it('refuses HTTP/0.9, which has no head', () =>
    expectUntouched(mandate, async () => {
      for (const line of ['GET /admin/agents\r\n\r\n', 'GET /healthz HTTP/0.9\r\n\r\n', 'GET /healthz\r\n\r\n']) {
        expectRefused(await converse(mandate.url, line + wholeRegistration()));
      }
    }));

  it('keeps an HTTP/1.0 connection open where that is asked for, and serves each request of it', async () => {
    const ask = (connection: string) => `GET /healthz HTTP/1.0\r\nConnection: ${connection}\r\n\r\n`;
    const { answers, end } = await converse(mandate.url, ask('keep-alive') + ask('close'));
    expect(answers.map(({ status, body }) => [status, body])).to.deep.equal(
      [200, 200].map((status) => [status, 'Healthy']),
    );
    expect(end).to.equal('closed');
  });

  it('passes over chunk extensions and trailers, within bounds', async () => {
    const reached = await reachedBy(
      mandate,
      async () => {
        const body = registration();
        const chunks = `${hex(body)};a=b;c="d"\r\n${body}\r\n0;e\r\nX-Checksum: none\r\n\r\n`;
        const { answers } = await converse(
          mandate.url,
          post('Connection: close\r\nTransfer-Encoding: chunked', chunks),
        );
        expect(answers.map(({ status }) => status)).to.deep.equal([201]);
      },
      1,
    );
    expect(reached.served).to.deep.equal(['POST /admin/agents 201']);
    const large = await reachedBy(
      mandate,
      async () => {
        const body = registration();
        const chunks = `${hex(body)};a=${'b'.repeat(20_000)}\r\n${body}\r\n0\r\n\r\n`;
        expectRefused(
          await converse(mandate.url, post('Transfer-Encoding: chunked', chunks) + wholeRegistration()),
          413,
        );
      },
      1,
    );
    expect(large).to.deep.equal({ records: [], served: ['POST /admin/agents aborted'] });
  });

  it('takes no credential from a trailer', async () => {
    const { records, served } = await reachedBy(
      mandate,
      async () => {
        const body = registration();
        const [host = ''] = ADMIN_HEADERS.split('\r\n');
        const key = ADMIN_HEADERS.split('\r\n').slice(1, 2).join('');
        const chunks = `${hex(body)}\r\n${body}\r\n0\r\n${key}\r\n\r\n`;
        const head = `POST /admin/agents HTTP/1.1\r\n${host}\r\nConnection: close\r\nTransfer-Encoding: chunked`;
        const { answers } = await converse(mandate.url, `${head}\r\nContent-Type: application/json\r\n\r\n${chunks}`);
        expect(answers.map(({ status }) => status)).to.deep.equal([401]);
      },
      1,
    );
    expect(served).to.deep.equal(['POST none 401']);
    expect(records.map(({ event, reason }) => [event, reason])).to.deep.equal([['admin.denied', 'missing_api_key']]);
  });

  it('speaks no other protocol that is offered to it', async () => {
    for (const protocol of ['websocket', 'h2c', 'TLS/1.0']) {
      const upgrade = `Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: ${protocol}\r\nHTTP2-Settings: AAMAAABk\r\n`;
      const sent = `GET /admin/agents HTTP/1.1\r\nHost: mandate.test\r\n${upgrade}\r\n`;
      const { answers } = await converse(mandate.url, sent);
      expect(answers.map(({ status }) => status)).to.deep.equal([401]);
      expect(answers[0]?.headers.has('upgrade')).to.equal(false);
    }
    await expectUntouched(mandate, async () => {
      expectRefused(await converse(mandate.url, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'));
      expectRefused(await converse(mandate.url, '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'));
    });
  });

  it('keeps the order of pipelined requests, and one that is refused leaves the others alone', async () => {
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
    const { records } = await reachedBy(mandate, async () => {
      const { answers, end } = await converse(mandate.url, sent.join(''));
      expect(answers.map(({ status }) => status)).to.deep.equal([200, 201, 401, 404, 400, 201, 200]);
      expect(end).to.equal('closed');
    });
    expect(records.map(({ event, reason }) => [event, reason])).to.deep.equal([
      ['agent.registered', null],
      ['admin.denied', 'missing_api_key'],
      ['token.denied', 'invalid_request'],
      ['agent.registered', null],
    ]);
  });

  for (const [what, bad] of [
    ['what is no request', 'nonsense\r\n\r\n'],
    ['what is no request of ours', 'GET http://mandate.test/admin/agents HTTP/1.1\r\nHost: x\r\n\r\n'],
  ] as const) {
    it(`answers what came before ${what}, then refuses it, and serves nothing behind it`, async () => {
      const { records, served } = await reachedBy(
        mandate,
        async () => {
          const sent = wholeRegistration() + wholeRegistration() + bad + wholeRegistration();
          const { answers, end } = await converse(mandate.url, sent);
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
