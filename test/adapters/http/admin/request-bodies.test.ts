import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { StorageUnavailable } from '../../../../application/ports/decisions.ts';
import { ADMIN_KEY, type AdminApi, startAdminApi } from '../../../support/admin-api.ts';
import { aRegistrationBody } from '../../../support/registrations.ts';

const PROBLEM = 'application/problem+json; charset=utf-8';
const good = JSON.stringify(aRegistrationBody());

describe('the body of an admin request', () => {
  let api: AdminApi;
  beforeEach(async () => {
    api = await startAdminApi();
  });
  afterEach(async () => {
    expect(await api.records()).to.deep.equal([]);
    expect((await api.send('get', '/admin/agents')).body.agents).to.deep.equal([]);
    await api.stop();
  });

  /** By fetch: supertest would turn bytes into JSON of its own. */
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
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/merge-patch+json',
    'application/json; charset=iso-8859-1',
    'application/jsonp',
  ]) {
    it(`is refused as ${type} with 415`, async () => {
      const answer = await post(good, type);
      expect([answer.status, answer.type]).to.deep.equal([415, PROBLEM]);
      expect(answer.body).to.include({ title: 'Unsupported Media Type', status: 415 });
    });
  }

  it('is refused without a type, or with two, with 415', async () => {
    const head = `POST /admin/agents HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ADMIN_KEY}\r\nConnection: close\r\n`;
    const json = 'Content-Type: application/json\r\n';
    const rest = `Content-Length: ${good.length}\r\n\r\n${good}`;
    expect(await api.raw(`${head}${rest}`)).to.match(/^HTTP\/1\.1 415 /);
    expect(await api.raw(`${head}${json}${json}${rest}`)).to.match(/^HTTP\/1\.1 415 /);
  });

  it('is refused compressed, with 415', async () => {
    const answer = await post(gzipSync(good), 'application/json', { 'content-encoding': 'gzip' });
    expect([answer.status, answer.body.status]).to.deep.equal([415, 415]);
  });

  const malformed: readonly [string, string | Buffer][] = [
    ['nothing', ''],
    ['half of it', good.slice(0, -1)],
    ['a comma too many', good.replace('}', ',}')],
    ['a member named twice', good.replace('{', '{"agent_id":"other",')],
    ['a member named twice, once in escapes', good.replace('{', '{"agent\\u005fid":"other",')],
    ['a member named twice within a key', good.replace('"kty"', '"kty":"RSA","kty"')],
    ['nesting without end', good.replace('{', `{"x":${'['.repeat(5000)}${']'.repeat(5000)},`)],
    ['half a character', good.replace('Jira triage', '\\ud800')],
    ['a byte order mark', `\ufeff${good}`],
    ['bytes that are no UTF-8', Buffer.from(good.replace('Jira triage', 'caf\u00e9'), 'latin1')],
    ['an array', `[${good}]`],
    ['a string', '"x"'],
    ['null', 'null'],
  ];
  for (const [what, body] of malformed) {
    it(`is refused as ${what} with 400`, async () => {
      const answer = await post(body, 'application/json');
      expect([answer.status, answer.type], answer.text).to.deep.equal([400, PROBLEM]);
      expect(answer.body).to.include({ title: 'Bad Request', status: 400 });
      expect(answer.body.detail).to.match(/^The body must be/);
    });
  }

  it('is refused over 64 KiB with 400, without being read on', async () => {
    const head = `POST /admin/agents HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ADMIN_KEY}\r\nContent-Type: application/json\r\n`;
    // Declared, and never sent; and sent in a chunk that never ends.
    expect(await api.raw(`${head}Content-Length: 65537\r\n\r\n`)).to.match(/^HTTP\/1\.1 400 /);
    const chunk = `11000\r\n${' '.repeat(0x11000)}\r\n`;
    const answer = await api.raw(`${head}Transfer-Encoding: chunked\r\n\r\n${chunk}`);
    expect(answer).to.match(/^HTTP\/1\.1 400 /);
    expect(answer).to.include('over 64 KiB');
  });

  it('is refused by PATCH the same way', async () => {
    const answer = await api.send('patch', '/admin/agents/jira-triage').set('content-type', 'text/plain').send('{}');
    expect(answer.status).to.equal(415);
  });
});

describe('an admin request that the database does not answer', () => {
  it('gets 503 with Retry-After in problem details, and nothing of why', async () => {
    const lost = () => Promise.reject(new StorageUnavailable('connect ECONNREFUSED db.internal'));
    const api = await startAdminApi({
      decisions: () => ({ decide: lost }),
      agents: () => ({ find: lost, list: lost }),
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
      expect([answer.status, answer.headers['retry-after'], answer.type]).to.deep.equal([
        503,
        '5',
        'application/problem+json',
      ]);
      expect(answer.body).to.include({ title: 'Service Unavailable', status: 503, error: 'temporarily_unavailable' });
      expect(answer.text).not.to.include('db.internal');
    }
    expect(api.reasons).to.deep.equal(answers.map(() => 'storage_unavailable'));
    await api.stop();
  });
});

describe('a fault under an admin request', () => {
  it('gets 500 without a word of it, and is logged', async () => {
    const broken = () => Promise.reject(new TypeError('secret detail'));
    const api = await startAdminApi({ agents: (agents) => ({ ...agents, list: broken }) });
    const answer = await api.send('get', '/admin/agents');
    expect([answer.status, answer.type]).to.deep.equal([500, 'application/problem+json']);
    expect(answer.body).to.deep.equal({ type: 'about:blank', title: 'Internal Server Error', status: 500 });
    expect(api.log.lines.join()).to.include('TypeError');
    await api.stop();
  });
});
