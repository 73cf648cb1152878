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

  it('publishes the keys of an agent without a credential, and lets caches keep them for five minutes', async () => {
    const answer = await api.stranger.get('/agents/jira-triage/jwks.json');
    expect([answer.status, answer.type]).to.deep.equal([200, 'application/json']);
    expect(answer.body).to.deep.equal({ keys: [P256_KEY] });
    expect(answer.headers['cache-control']).to.equal('public, max-age=300');
  });

  it('publishes the keys of a disabled agent', async () => {
    await api.send('patch', '/admin/agents/jira-triage', { enabled: false });
    expect((await api.stranger.get('/agents/jira-triage/jwks.json')).status).to.equal(200);
  });

  for (const path of [
    ...['remote', 'nobody', 'Upper', '__proto__', '..%2F', 'jira-triage/jwks.json'].map((id) => `${id}/jwks.json`),
    ...['jira-triage', 'jira-triage/jwks.json/', 'jira-triage/JWKS.json'],
  ]) {
    it(`answers 404 for /agents/${path}`, async () => {
      const answer = await api.stranger.get(`/agents/${path}`);
      expect([answer.status, answer.type]).to.deep.equal([404, 'application/problem+json']);
      expect(answer.headers['cache-control']).to.equal('no-store');
    });
  }

  it('gives the same answer for an unknown agent and for an agent with a jwks_uri', async () => {
    const [remote, nobody] = [
      await api.stranger.get('/agents/remote/jwks.json'),
      await api.stranger.get('/agents/nobody/jwks.json'),
    ];
    expect(remote.body).to.deep.equal(nobody.body);
  });
});
