import { expect } from 'chai';
import { type AdminApi, startAdminApi } from '../../../support/admin-api.ts';
import { aRegistrationBody, P256_KEY } from '../../../support/registrations.ts';

describe('GET /agents/{agent_id}/jwks.json', () => {
  let api: AdminApi;
  before(async () => {
    api = await startAdminApi();
    const remote = { jwks: null, jwks_uri: 'https://keys.example/jwks.json' };
    await api.send('post', '/admin/agents', aRegistrationBody({ jwks: { keys: [P256_KEY], note: 'x' } }));
    await api.send('post', '/admin/agents', aRegistrationBody({ agent_id: 'remote', ...remote }));
  });
  after(() => api.stop());

  it('publishes the keys of a registration to anybody, to be kept for five minutes', async () => {
    const answer = await api.stranger.get('/agents/jira-triage/jwks.json');
    expect([answer.status, answer.type]).to.deep.equal([200, 'application/json']);
    expect(answer.body).to.deep.equal({ keys: [P256_KEY] });
    expect(answer.headers['cache-control']).to.equal('public, max-age=300');
  });

  it('publishes a disabled agent’s too', async () => {
    await api.send('patch', '/admin/agents/jira-triage', { enabled: false });
    expect((await api.stranger.get('/agents/jira-triage/jwks.json')).status).to.equal(200);
  });

  for (const path of [
    'remote/jwks.json',
    'nobody/jwks.json',
    'Upper/jwks.json',
    '__proto__/jwks.json',
    '..%2F/jwks.json',
    'jira-triage',
    'jira-triage/jwks.json/',
    'jira-triage/JWKS.json',
  ]) {
    it(`answers 404 for ${path}`, async () => {
      const answer = await api.stranger.get(`/agents/${path}`);
      expect([answer.status, answer.type]).to.deep.equal([404, 'application/problem+json']);
      expect(answer.headers['cache-control']).to.equal(undefined);
    });
  }

  it('tells an agent that is not there and one with a jwks_uri apart in nothing', async () => {
    const [remote, nobody] = [
      await api.stranger.get('/agents/remote/jwks.json'),
      await api.stranger.get('/agents/nobody/jwks.json'),
    ];
    expect(remote.body).to.deep.equal(nobody.body);
  });

  it('answers 400 to an id that is no text and 405 to another method', async () => {
    expect((await api.stranger.get('/agents/%zz/jwks.json')).status).to.equal(400);
    const posted = await api.stranger.post('/agents/jira-triage/jwks.json');
    expect([posted.status, posted.headers.allow]).to.deep.equal([405, 'GET, HEAD']);
  });
});
