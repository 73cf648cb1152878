import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { StorageUnavailable } from '../../../../application/ports/decisions.ts';
import { ADMIN_KEY, type AdminApi, startAdminApi } from '../../../support/admin-api.ts';
import { aRegistrationBody } from '../../../support/registrations.ts';

const PROBLEM = 'application/problem+json; charset=utf-8';
const good = JSON.stringify(aRegistrationBody());

describe('The admin surface', () => {
  let api: AdminApi;
  before(async () => {
    api = await startAdminApi();
  });
  afterEach(async () => {
    expect(await api.records()).to.deep.equal([]);
    expect((await api.send('get', '/admin/agents')).body.agents).to.deep.equal([]);
  });
  after(() => api.stop());

  /** Posts with fetch, because supertest would encode bytes as JSON. */
  const post = async (body: string | Buffer, type: string, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${api.url}/admin/agents`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': type, ...headers },
      body,
    });
    const text = await answer.text();
    return { status: answer.status, type: answer.headers.get('content-type'), text, body: JSON.parse(text) };
  };

  for (const type of [
    ...['text/plain', 'application/x-www-form-urlencoded', 'application/merge-patch+json', 'application/jsonp'],
    'application/json; charset=iso-8859-1',
  ]) {
    it(`refuses a body of the type ${type} with 415`, async () => {
      const answer = await post(good, type);
      expect([answer.status, answer.type]).to.deep.equal([415, PROBLEM]);
      expect(answer.body).to.include({ title: 'Unsupported Media Type', status: 415 });
    });
  }

  it('refuses a body without a Content-Type header, or with two, with 415', async () => {
    const head = `POST /admin/agents HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ADMIN_KEY}\r\nConnection: close\r\n`;
    const json = 'Content-Type: application/json\r\n';
    const rest = `Content-Length: ${good.length}\r\n\r\n${good}`;
    expect(await api.raw(`${head}${rest}`)).to.match(/^HTTP\/1\.1 415 /);
    expect(await api.raw(`${head}${json}${json}${rest}`)).to.match(/^HTTP\/1\.1 415 /);
  });

  it('refuses a compressed body with 415', async () => {
    const answer = await post(gzipSync(good), 'application/json', { 'content-encoding': 'gzip' });
    expect([answer.status, answer.body.status]).to.deep.equal([415, 415]);
  });

  const malformed: readonly [string, string | Buffer][] = [
    ['an empty body', ''],
    ['a body that ends too early', good.slice(0, -1)],
    ['a trailing comma', good.replace('}', ',}')],
    ['a repeated member', good.replace('{', '{"agent_id":"other",')],
    ['a repeated member, once with an escape', good.replace('{', '{"agent\\u005fid":"other",')],
    ['a repeated member within a key', good.replace('"kty"', '"kty":"RSA","kty"')],
    ['5000 nested arrays', good.replace('{', `{"x":${'['.repeat(5000)}${']'.repeat(5000)},`)],
    ['a lone surrogate', good.replace('Jira triage', '\\ud800')],
    ['a byte order mark', `\ufeff${good}`],
    ['bytes that are not UTF-8', Buffer.from(good.replace('Jira triage', 'caf\u00e9'), 'latin1')],
    ['an array', `[${good}]`],
    ['a string', '"x"'],
    ['null', 'null'],
  ];
  for (const [what, body] of malformed) {
    it(`refuses ${what} with 400`, async () => {
      const answer = await post(body, 'application/json');
      expect([answer.status, answer.type], answer.text).to.deep.equal([400, PROBLEM]);
      expect(answer.body).to.include({ title: 'Bad Request', status: 400 });
      expect(answer.body.detail).to.match(/^The body must be/);
    });
  }

  it('refuses a body over 64 KiB with 400, and does not read it to its end', async () => {
    const head = `POST /admin/agents HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ADMIN_KEY}\r\nContent-Type: application/json\r\n`;
    // One body is declared and never sent, the other is a chunk that never ends.
    expect(await api.raw(`${head}Content-Length: 65537\r\n\r\n`)).to.match(/^HTTP\/1\.1 400 /);
    const chunk = `11000\r\n${' '.repeat(0x11000)}\r\n`;
    const answer = await api.raw(`${head}Transfer-Encoding: chunked\r\n\r\n${chunk}`);
    expect(answer).to.match(/^HTTP\/1\.1 400 /);
    expect(answer).to.include('over 64 KiB');
  });

  it('refuses a PATCH body of another type with 415', async () => {
    const answer = await api.send('patch', '/admin/agents/jira-triage').set('content-type', 'text/plain').send('{}');
    expect(answer.status).to.equal(415);
  });
});

describe('The admin surface while the database is unavailable', () => {
  it('answers 503 with Retry-After in problem details, and does not name the cause', async () => {
    const lost = () => Promise.reject(new StorageUnavailable('connect ECONNREFUSED db.internal'));
    const api = await startAdminApi({
      decisions: () => ({ decide: lost }),
      agents: () => ({ find: lost, findByDocument: lost, publicClients: lost, list: lost, longestTokens: lost }),
      ledger: (ledger) => ({ ...ledger, page: lost }),
    });
    const answers = [
      await api.send('get', '/admin/agents'),
      await api.send('post', '/admin/agents', aRegistrationBody()),
      await api.send('get', '/admin/agents/a'),
      await api.send('patch', '/admin/agents/a', {}),
      await api.send('delete', '/admin/agents/a'),
      await api.send('get', '/audit'),
      await api.stranger.get('/agents/a/jwks.json'),
    ];
    for (const answer of answers) {
      expect([answer.status, answer.headers['retry-after']]).to.deep.equal([503, '5']);
      expect(answer.type).to.equal('application/problem+json');
      expect(answer.body).to.include({ title: 'Service Unavailable', status: 503, error: 'temporarily_unavailable' });
      expect(answer.text).not.to.include('db.internal');
    }
    expect(api.reasons).to.deep.equal(answers.map(() => 'storage_unavailable'));
    await api.stop();
  });
});

describe('The admin surface after a bug', () => {
  it('answers 500 without details, and logs the error', async () => {
    const broken = () => Promise.reject(new TypeError('secret detail'));
    const api = await startAdminApi({ agents: (agents) => ({ ...agents, list: broken }) });
    const answer = await api.send('get', '/admin/agents');
    expect([answer.status, answer.type]).to.deep.equal([500, 'application/problem+json']);
    expect(answer.body).to.deep.equal({ type: 'about:blank', title: 'Internal Server Error', status: 500 });
    expect(api.log.lines.join()).to.include('TypeError');
    await api.stop();
  });
});
