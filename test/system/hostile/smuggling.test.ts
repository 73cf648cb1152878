/**
 * Request smuggling: a proxy and the service could find the end of such a message in different places. Each request
 * carries the admin key, a valid registration and a second registration behind it. One that reached its handler would
 * leave a record. `test/adapters/http/server/ambiguous-messages.test.ts` tries all kinds of such messages.
 */

import { expect } from 'chai';
import { sqliteFile } from '../../support/databases.ts';
import { chunked, hex } from '../../support/hostile/ambiguous-messages.ts';
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

const post = (framing: string, body: string) =>
  `POST /admin/agents HTTP/1.1\r\n${ADMIN_HEADERS}${framing}\r\n\r\n${body}`;

describe('The HTTP server', () => {
  let mandate: Mandate;
  before(async () => {
    mandate = await startMandate({ database: sqliteFile, settings: { 'Service:Audit:Aggregation:Enabled': 'false' } });
  });
  after(() => mandate.stop());

  it('refuses a request with Content-Length and Transfer-Encoding, and reads nothing after it', () =>
    expectNoEffect(mandate, async () => {
      const body = registration();
      const framing = `Content-Length: ${body.length}\r\nTransfer-Encoding: chunked`;
      expectRefused(await sendBytes(mandate.url, post(framing, chunked(body)) + wholeRegistration()));
    }));

  it('refuses a body with malformed chunks, and reads nothing after it', async () => {
    const reached = await effectsOf(
      mandate,
      async () => {
        const sent = post('Transfer-Encoding: chunked', `0x${chunked(registration())}`) + wholeRegistration();
        expectRefused(await sendBytes(mandate.url, sent));
      },
      1,
    );
    expect(reached).to.deep.equal({ records: [], served: ['POST /admin/agents aborted'] });
  });

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
