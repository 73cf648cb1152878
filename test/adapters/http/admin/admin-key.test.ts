import { expect } from 'chai';
import { StorageUnavailable } from '../../../../application/ports/decisions.ts';
import { ADMIN_KEY, type AdminApi, startAdminApi } from '../../../support/admin-api.ts';
import { aRegistrationBody } from '../../../support/registrations.ts';

describe('The admin surface', () => {
  let api: AdminApi;
  beforeEach(async () => {
    api = await startAdminApi();
  });
  afterEach(() => api.stop());

  const guarded = [
    ...['/admin/agents', '/admin/agents/jira-triage', '/admin', '/admin/nothing/here'],
    ...['/audit', '/audit/x', '/audit/checkpoints', '/audit/records/1/proof'],
  ];
  for (const path of guarded) {
    it(`refuses GET ${path} without the admin key, and records the refusal`, async () => {
      const answer = await api.stranger.get(path);
      expect(answer.status).to.equal(401);
      expect(answer.headers['www-authenticate']).to.equal('Bearer');
      expect(answer.headers['cache-control']).to.equal('no-store');
      expect(answer.type).to.equal('application/problem+json');
      expect(answer.body).to.include({ type: 'about:blank', title: 'Unauthorized', status: 401 });
      const [record, ...more] = await api.records();
      expect(more).to.deep.equal([]);
      expect(record).to.include({ event: 'admin.denied', decision: 'deny', reason: 'missing_api_key' });
      expect([record?.agent_id, record?.sponsor, record?.task_id, record?.jti]).to.deep.equal([null, null, null, null]);
      expect(api.reasons).to.deep.equal(['missing_api_key']);
    });
  }

  const wrong: readonly [string, string][] = [
    ['another key', `Bearer ${ADMIN_KEY.replace('0', '1')}`],
    ['the admin key without its last character', `Bearer ${ADMIN_KEY.slice(0, -1)}`],
    ['the admin key with one character more', `Bearer ${ADMIN_KEY}x`],
    ['the admin key in other letter case', `Bearer ${ADMIN_KEY.toUpperCase()}`],
    ['the admin key in another scheme', `Basic ${ADMIN_KEY}`],
    ['the admin key without a scheme', ADMIN_KEY],
    ['a scheme without a key', 'Bearer'],
    ['the admin key after a no-break space', `\u00a0Bearer ${ADMIN_KEY}`],
    ['the admin key before a no-break space', `Bearer ${ADMIN_KEY}\u00a0`],
  ];
  for (const [what, value] of wrong) {
    it(`refuses ${what}, and records the refusal`, async () => {
      const answer = await api.stranger.get('/admin/agents').set('authorization', value);
      expect(answer.status).to.equal(401);
      expect(answer.headers['www-authenticate']).to.equal('Bearer');
      expect(answer.text).not.to.include(value.slice(-16));
      const records = await api.records();
      expect(records.map(({ event, reason }) => [event, reason])).to.deep.equal([['admin.denied', 'invalid_api_key']]);
    });
  }

  it('accepts the admin key between spaces and tabs', async () => {
    const answer = await api.raw(
      `GET /admin/agents HTTP/1.1\r\nHost: x\r\nAuthorization: \t Bearer ${ADMIN_KEY}\t \r\nConnection: close\r\n\r\n`,
    );
    expect(answer).to.match(/^HTTP\/1\.1 200 /);
  });

  it('accepts the admin key with its scheme in lower case', async () => {
    const answer = await api.stranger.get('/admin/agents').set('authorization', `bearer ${ADMIN_KEY}`);
    expect(answer.status).to.equal(200);
  });

  it('refuses two Authorization headers when either of them holds the admin key', async () => {
    for (const headers of [
      `Authorization: Bearer ${ADMIN_KEY}\r\nAuthorization: Bearer x`,
      `Authorization: Bearer x\r\nauthorization: Bearer ${ADMIN_KEY}`,
    ]) {
      const answer = await api.raw(`GET /audit HTTP/1.1\r\nHost: x\r\n${headers}\r\nConnection: close\r\n\r\n`);
      expect(answer).to.match(/^HTTP\/1\.1 401 /);
    }
    expect((await api.records()).map(({ reason }) => reason)).to.deep.equal(['invalid_api_key', 'invalid_api_key']);
  });

  it('refuses a request without the admin key before it reads the body', async () => {
    // The declared body is never sent.
    const answer = await api.raw(
      'POST /admin/agents HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n',
    );
    expect(answer).to.match(/^HTTP\/1\.1 401 /);
    expect(await api.send('get', '/admin/agents').then(({ body }) => body.agents)).to.deep.equal([]);
  });
});

describe('The admin surface of a service without an admin key', () => {
  it('answers every request with 503, and records nothing', async () => {
    const api = await startAdminApi({ apiKey: null });
    const answers = [
      await api.send('get', '/admin/agents'),
      await api.send('post', '/admin/agents', aRegistrationBody()),
      await api.send('delete', '/admin/nothing'),
      await api.stranger.get('/audit'),
      await api.stranger.get('/audit').set('authorization', 'Bearer undefined'),
    ];
    for (const answer of answers) {
      expect(answer.status).to.equal(503);
      expect(answer.type).to.equal('application/problem+json');
      expect(answer.body.detail).to.match(/disabled/);
      expect(answer.headers['retry-after']).to.equal(undefined);
    }
    expect(await api.records()).to.deep.equal([]);
    await api.stop();
  });
});

describe('The admin surface while the ledger cannot be written', () => {
  it('still answers 401 to a request without the admin key, because the record of this refusal names no person', async () => {
    const lost = () => Promise.reject(new StorageUnavailable('lost'));
    const api = await startAdminApi({ decisions: () => ({ decide: lost }) });
    const answer = await api.stranger.get('/admin/agents');
    expect(answer.status).to.equal(401);
    expect(api.log.lines.join()).to.include('missing_api_key');
    await api.stop();
  });
});
