import { expect } from 'chai';
import { disableAgent } from '../../../../application/decisions/write-agent.ts';
import { type AdminApi, startAdminApi } from '../../../support/admin-api.ts';
import { aRegistrationBody, OFF_CURVE_KEY, P256_KEY, RULES } from '../../../support/registrations.ts';

const PATH = '/admin/agents/jira-triage';

describe('PATCH /admin/agents/{agent_id}', () => {
  let api: AdminApi;
  beforeEach(async () => {
    api = await startAdminApi();
    await api.send('post', '/admin/agents', aRegistrationBody());
  });
  afterEach(() => api.stop());

  const patched = async (body: unknown): Promise<Record<string, unknown>> => {
    const answer = await api.send('patch', PATH, body);
    expect(answer.status, answer.text).to.equal(200);
    expect((await api.send('get', PATH)).body).to.deep.equal(answer.body);
    return answer.body;
  };
  const errorsOf = async (body: unknown): Promise<Record<string, string[]>> => {
    const before = (await api.send('get', PATH)).body;
    const answer = await api.send('patch', PATH, body);
    expect([answer.status, answer.type], answer.text).to.deep.equal([400, 'application/problem+json']);
    expect((await api.send('get', PATH)).body).to.deep.equal(before);
    expect(await api.records()).to.have.lengthOf(1);
    return answer.body.errors;
  };
  const lastRecord = async () => (await api.records()).at(-1);

  it('changes the given fields, keeps the rest, and records the names of the fields in the published order', async () => {
    const before = (await api.send('get', PATH)).body;
    api.clock.advance(60);
    const changes = { enabled: false, max_token_ttl: 'PT1M', display_name: 'New' };
    const after = await patched({ ...changes, agent_id: 'jira-triage' });
    expect(after.updated_at).not.to.equal(before.updated_at);
    expect(after).to.deep.equal({ ...before, ...changes, updated_at: after.updated_at });
    expect(await lastRecord()).to.include({
      event: 'agent.updated',
      agent_id: 'jira-triage',
      decision: 'allow',
      reason: 'changed:agent_id,display_name,max_token_ttl,enabled',
    });
  });

  it('enables a disabled agent', async () => {
    await patched({ enabled: false });
    expect((await patched({ enabled: true })).enabled).to.equal(true);
    expect(await lastRecord()).to.include({ reason: 'changed:enabled' });
  });

  for (const body of [{}, { enabled: true }, { display_name: 'Jira triage', jwks: { keys: [P256_KEY] } }]) {
    it(`changes nothing for ${JSON.stringify(body).slice(0, 40)}, and records no_change`, async () => {
      const before = (await api.send('get', PATH)).body;
      api.clock.advance(60);
      expect(await patched(body)).to.deep.equal(before);
      expect(await lastRecord()).to.include({ event: 'agent.updated', decision: 'allow', reason: 'no_change' });
    });
  }

  describe('checks the merged registration as a whole:', () => {
    it('a task lifetime below the stored token lifetime is refused', async () => {
      expect(await errorsOf({ max_task_ttl: 'PT3M' })).to.deep.equal({
        max_token_ttl: ['Must not be longer than max_task_ttl.'],
      });
    });

    it('both lifetimes can be lowered together', async () => {
      const after = await patched({ max_task_ttl: 'PT3M', max_token_ttl: 'PT3M' });
      expect(after).to.include({ max_task_ttl: 'PT3M', max_token_ttl: 'PT3M' });
    });

    const refused: readonly [string, unknown, string][] = [
      ['another agent_id', { agent_id: 'other' }, 'agent_id'],
      ['sponsor_required false', { sponsor_required: false }, 'sponsor_required'],
      ['an empty list of scopes', { allowed_scopes: [] }, 'allowed_scopes'],
      ['an empty list of audiences', { allowed_audiences: [] }, 'allowed_audiences'],
      ['a depth of 6', { max_delegation_depth: 6 }, 'max_delegation_depth'],
      ['a lifetime over the maximum', { max_task_ttl: 'P2D' }, 'max_task_ttl'],
      ['a key off its curve', { jwks: { keys: [OFF_CURVE_KEY] } }, 'jwks'],
      ['a jwks_uri over http', { jwks_uri: 'http://keys.example' }, 'jwks_uri'],
      ['null as display_name', { display_name: null }, 'display_name'],
      ['null as enabled', { enabled: null }, 'enabled'],
      ['a string as enabled', { enabled: 'false' }, 'enabled'],
      ['null as high_risk_audiences', { high_risk_audiences: null }, 'high_risk_audiences'],
      ['an unknown member', { updated_at: 'now' }, 'updated_at'],
    ];
    for (const [what, body, field] of refused) {
      it(`${what} is refused by name, and nothing is changed or recorded`, async () => {
        expect(Object.keys(await errorsOf(body))).to.deep.equal([field]);
      });
    }

    it('two sources of keys, or none, are refused', async () => {
      const both = { jwks: { keys: [P256_KEY] }, jwks_uri: 'https://keys.example' };
      for (const body of [both, { jwks: null }]) {
        expect(Object.keys(await errorsOf(body))).to.have.members(['jwks_uri', 'jwks']);
      }
    });
  });

  it('resets a lifetime to its default with null', async () => {
    expect(await patched({ max_task_ttl: null })).to.include({ max_task_ttl: 'PT30M', max_token_ttl: 'PT4M' });
    expect(await lastRecord()).to.include({ reason: 'changed:max_task_ttl' });
    expect(await patched({ max_token_ttl: null })).to.include({ max_task_ttl: 'PT30M', max_token_ttl: 'PT5M' });
  });

  it('replaces keys by a jwks_uri, and a jwks_uri by keys', async () => {
    const uri = 'https://keys.example/jwks.json';
    expect(await patched({ jwks_uri: uri })).to.deep.include({ jwks_uri: uri, jwks: null });
    const jwks = { keys: [{ ...P256_KEY, kid: 'second' }] };
    expect(await patched({ jwks, jwks_uri: null })).to.deep.include({ jwks_uri: null, jwks });
    expect(await lastRecord()).to.include({ reason: 'changed:jwks_uri,jwks' });
  });

  it('applies every one of several concurrent changes', async () => {
    const bodies = [
      { display_name: 'New' },
      { allowed_scopes: ['new'] },
      { allowed_audiences: ['https://new.example'] },
      { max_task_ttl: 'PT1H' },
      { max_token_ttl: 'PT2M' },
      { max_delegation_depth: 5 },
      { high_risk_audiences: [] },
      { jwks_uri: 'https://new.example/keys' },
      { enabled: false },
    ];
    const answers = await Promise.all(bodies.map((body) => api.send('patch', PATH, body)));
    expect(answers.map(({ status }) => status)).to.deep.equal(bodies.map(() => 200));
    const agent = (await api.send('get', PATH)).body;
    for (const body of bodies) expect(agent).to.deep.include(body);
    const reasons = (await api.records()).slice(1).map(({ reason }) => reason);
    expect(reasons).to.have.members(bodies.map((body) => `changed:${Object.keys(body)[0]}`));
  });
});

describe('PATCH /admin/agents/{agent_id} that conflicts with another change on every retry', () => {
  it('is answered with 503 and Retry-After, and neither stored nor recorded', async () => {
    const api = await startAdminApi({
      decisions: (real) => ({
        decide: async (decision, input) =>
          decision.name === disableAgent.name ? ('changed' as never) : real.decide(decision, input),
      }),
    });
    await api.send('post', '/admin/agents', aRegistrationBody());
    const answer = await api.send('patch', PATH, { enabled: false });
    expect([answer.status, answer.headers['retry-after']]).to.deep.equal([503, '1']);
    expect(answer.type).to.equal('application/problem+json');
    expect(answer.body).to.include({ error: 'temporarily_unavailable' });
    expect(answer.body.detail).to.equal(
      'Other changes of this agent were stored first, and this one was not stored. Retry the request.',
    );
    expect(api.reasons.at(-1)).to.equal('agent_kept_changing');
    expect(api.log.lines).to.deep.equal([]);
    expect(await api.records()).to.have.lengthOf(1);
    await api.stop();
  });
});

describe('PATCH /admin/agents/{agent_id} of a registration that later settings forbid', () => {
  it('can disable the agent, and change nothing else until the registration is allowed again', async () => {
    let maxTaskTtl = RULES.lifetimes.maxTaskTtl;
    const lifetimes = {
      ...RULES.lifetimes,
      get maxTaskTtl() {
        return maxTaskTtl;
      },
    };
    const api = await startAdminApi({ rules: { ...RULES, lifetimes } });
    await api.send('post', '/admin/agents', aRegistrationBody({ max_task_ttl: 'PT2H' }));
    maxTaskTtl = 3600;
    expect((await api.send('patch', PATH, { enabled: false })).body.enabled).to.equal(false);
    for (const body of [{ enabled: true }, { display_name: 'New' }, { display_name: 'New', enabled: false }]) {
      const answer = await api.send('patch', PATH, body);
      expect([answer.status, Object.keys(answer.body.errors)]).to.deep.equal([400, ['max_task_ttl']]);
    }
    expect((await api.send('patch', PATH, { max_task_ttl: 'PT1H', enabled: true })).status).to.equal(200);
    await api.stop();
  });
});
