/** `Expect`: nobody is invited to send a body before it is known that the body will be read. */

import { expect } from 'chai';
import { sqliteFile } from '../../support/databases.ts';
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
import { formPost, rawConnection } from '../../support/raw-http.ts';
import { scimSettings } from '../../support/scim-client.ts';

const SETTINGS = {
  ...scimSettings,
  'Service:Ssf:Issuer': 'http://127.0.0.1:9/tenant',
  'Service:Ssf:Audience': 'https://mandate.test/stream',
  'Service:Ssf:BearerToken': 'a-push-credential-that-only-the-tests-know-01',
  'Service:Audit:Aggregation:Enabled': 'false',
};
const EXPECTING = 'Expect: 100-continue\r\n';

describe('a body that waits for a word', () => {
  let mandate: Mandate;
  before(async () => {
    mandate = await startMandate({ database: sqliteFile, settings: SETTINGS });
  });
  after(() => mandate.stop());

  for (const [path, event] of [
    ['/admin/agents', 'admin.denied'],
    ['/scim/v2/Users', 'scim.denied'],
    ['/events', 'ssf.denied'],
  ] as const) {
    it(`is not asked for at ${path} without a credential: that is said at once, and last`, async function () {
      // It is elapsed time that says whether it is at once.
      this.retries(2);
      const { records } = await reachedBy(mandate, async () => {
        const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${EXPECTING}`;
        const { answers, end, tookMs } = await converse(mandate.url, `${head}Content-Length: 500\r\n\r\n`);
        expect(answers.map(({ status }) => status)).to.deep.equal([401]);
        expect(answers[0]?.headers.get('connection')).to.equal('close');
        expect(end).to.equal('closed');
        expect(tookMs).to.be.below(1500);
      });
      expect(records.map((line) => [line.event, line.reason])).to.deep.equal([[event, 'missing_api_key']]);
    });
  }

  it('is asked for once the credential is known, and then read', async () => {
    const body = registration();
    const connection = await rawConnection(mandate.url);
    connection.send(
      `POST /admin/agents HTTP/1.1\r\n${ADMIN_HEADERS}${EXPECTING}Content-Length: ${body.length}\r\n\r\n`,
    );
    expect(await connection.until('\r\n\r\n')).to.equal('HTTP/1.1 100 Continue\r\n\r\n');
    connection.send(body);
    expect(await connection.until('agent_id')).to.match(/\r\n\r\nHTTP\/1\.1 201 Created\r\n/);
    // And the connection is as good as it was.
    connection.send('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(await connection.until('Healthy')).to.match(/Connection: keep-alive/);
    connection.leave();
  });

  it('is asked for where its credential is within it', async () => {
    const connection = await rawConnection(mandate.url);
    const [head = '', body = ''] = formPost('/oauth2/introspect', 'token=x').split('\r\n\r\n');
    connection.send(`${head}\r\nexpect: 100-Continue\r\n\r\n`);
    await connection.until('100 Continue');
    connection.send(body);
    expect(await connection.until('"active":false')).to.match(/HTTP\/1\.1 200 OK/);
    connection.leave();
  });

  it('is not asked for where it would not be read: too large, of another type, compressed, nobody there', async () => {
    for (const [line, more, status] of [
      ['POST /admin/agents', 'Content-Length: 65537\r\n', 400],
      ['POST /admin/agents', 'Content-Length: 9\r\nContent-Encoding: gzip\r\n', 415],
      ['PATCH /admin/agents/..-', 'Content-Length: 9\r\n', 404],
      ['POST /oauth2/token', 'Content-Length: 9\r\n', 400],
      ['PUT /oauth2/token', 'Content-Length: 9\r\n', 405],
      ['POST /nothing-here', 'Content-Length: 9\r\n', 404],
    ] as const) {
      const sent = `${line} HTTP/1.1\r\n${ADMIN_HEADERS}${EXPECTING}${more}\r\n`;
      const { answers, end } = await converse(mandate.url, sent);
      expect(
        answers.map((answer) => answer.status),
        line,
      ).to.deep.equal([status]);
      expect(end).to.equal('closed');
    }
  });

  it('does not turn into requests when it comes without having been asked for', async () => {
    const { records } = await reachedBy(mandate, async () => {
      const smuggled = wholeRegistration();
      const head = `POST /admin/agents HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${EXPECTING}`;
      const { answers } = await converse(mandate.url, `${head}Content-Length: ${smuggled.length}\r\n\r\n${smuggled}`);
      expect(answers.map(({ status }) => status)).to.deep.equal([401]);
    });
    expect(records.map(({ event }) => event)).to.deep.equal(['admin.denied']);
  });

  it('can wait for nothing else', () =>
    expectUntouched(mandate, async () => {
      for (const expected of [
        '200-ok',
        '',
        '100-continue, 200-ok',
        '100-continue\r\nExpect: 100-continue',
        'x 100-continue',
      ]) {
        const sent = wholeRegistration(`Expect: ${expected}\r\n`) + wholeRegistration();
        expectRefused(await converse(mandate.url, sent), 417);
      }
    }));
});
