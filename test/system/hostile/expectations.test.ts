/** `Expect: 100-continue`: the service asks for a body only if it is going to read it. */

import { expect } from 'chai';
import { sqliteFile } from '../../support/databases.ts';
import { ADMIN_HEADERS, effectsOf, registration, wholeRegistration } from '../../support/hostile/no-effect.ts';
import { sendBytes } from '../../support/hostile/send-bytes.ts';
import { type Mandate, startMandate } from '../../support/mandate.ts';
import { formPost, rawConnection } from '../../support/raw-http.ts';
import { EVERY_RECEIVER } from '../../support/transmitter.ts';

const SETTINGS = { ...EVERY_RECEIVER, 'Service:Audit:Aggregation:Enabled': 'false' };
const EXPECTING = 'Expect: 100-continue\r\n';

describe('A request with Expect', () => {
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
    it(`gets 401 at once, and not 100, at ${path} without a credential`, async function () {
      // Retries, because a busy machine may exceed the time limit.
      this.retries(2);
      const { records } = await effectsOf(mandate, async () => {
        const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${EXPECTING}`;
        const { answers, end, tookMs } = await sendBytes(mandate.url, `${head}Content-Length: 500\r\n\r\n`);
        expect(answers.map(({ status }) => status)).to.deep.equal([401]);
        expect(answers[0]?.headers.get('connection')).to.equal('close');
        expect(end).to.equal('closed');
        expect(tookMs).to.be.below(1500);
      });
      expect(records.map((line) => [line.event, line.reason])).to.deep.equal([[event, 'missing_api_key']]);
    });
  }

  it('gets 100 if its credential is valid, then its response', async () => {
    const body = registration();
    const connection = await rawConnection(mandate.url);
    connection.send(
      `POST /admin/agents HTTP/1.1\r\n${ADMIN_HEADERS}${EXPECTING}Content-Length: ${body.length}\r\n\r\n`,
    );
    expect(await connection.until('\r\n\r\n')).to.equal('HTTP/1.1 100 Continue\r\n\r\n');
    connection.send(body);
    expect(await connection.until('agent_id')).to.match(/\r\n\r\nHTTP\/1\.1 201 Created\r\n/);
    // The client can use the connection again.
    connection.send('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(await connection.until('Healthy')).to.match(/Connection: keep-alive/);
    connection.leave();
  });

  it('gets 100 if the credential is in the body', async () => {
    const connection = await rawConnection(mandate.url);
    const [head = '', body = ''] = formPost('/oauth2/introspect', 'token=x').split('\r\n\r\n');
    connection.send(`${head}\r\nexpect: 100-Continue\r\n\r\n`);
    await connection.until('100 Continue');
    connection.send(body);
    expect(await connection.until('"active":false')).to.match(/HTTP\/1\.1 200 OK/);
    connection.leave();
  });

  it('gets no 100 if the body is too large, of a wrong type or compressed, or the path does not exist', async () => {
    for (const [line, more, status] of [
      ['POST /admin/agents', 'Content-Length: 65537\r\n', 400],
      ['POST /admin/agents', 'Content-Length: 9\r\nContent-Encoding: gzip\r\n', 415],
      ['PATCH /admin/agents/..-', 'Content-Length: 9\r\n', 404],
      ['POST /oauth2/token', 'Content-Length: 9\r\n', 400],
      ['PUT /oauth2/token', 'Content-Length: 9\r\n', 405],
      ['POST /nothing-here', 'Content-Length: 9\r\n', 404],
    ] as const) {
      const sent = `${line} HTTP/1.1\r\n${ADMIN_HEADERS}${EXPECTING}${more}\r\n`;
      const { answers, end } = await sendBytes(mandate.url, sent);
      expect(
        answers.map((answer) => answer.status),
        line,
      ).to.deep.equal([status]);
      expect(end).to.equal('closed');
    }
  });

  it('whose body arrives without a 100 is not read as another request', async () => {
    const { records } = await effectsOf(mandate, async () => {
      const smuggled = wholeRegistration();
      const head = `POST /admin/agents HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${EXPECTING}`;
      const { answers } = await sendBytes(mandate.url, `${head}Content-Length: ${smuggled.length}\r\n\r\n${smuggled}`);
      expect(answers.map(({ status }) => status)).to.deep.equal([401]);
    });
    expect(records.map(({ event }) => event)).to.deep.equal(['admin.denied']);
  });
});
