import { expect } from 'chai';
import { type AdminApi, startAdminApi } from '../../../support/admin-api.ts';
import { aRegistrationBody, OFF_CURVE_KEY, P256_KEY } from '../../../support/registrations.ts';

let api: AdminApi;

const errorsOf = async (body: unknown): Promise<Record<string, string[]>> => {
  const answer = await api.send('post', '/admin/agents', body);
  expect(answer.status, answer.text).to.equal(400);
  expect(answer.type).to.equal('application/problem+json');
  expect(answer.body).to.include({ type: 'about:blank', title: 'Bad Request', status: 400 });
  return answer.body.errors;
};

describe('POST /admin/agents', () => {
  beforeEach(async () => {
    api = await startAdminApi();
  });
  afterEach(() => api.stop());

  it('answers 201 with every field of the agent in the published order', async () => {
    const answer = await api.send('post', '/admin/agents', aRegistrationBody());
    expect(answer.status).to.equal(201);
    expect(answer.headers.location).to.equal('/admin/agents/jira-triage');
    expect(answer.type).to.equal('application/json');
    expect(Object.keys(answer.body)).to.deep.equal([
      ...['agent_id', 'display_name', 'sponsor_required', 'allowed_scopes', 'allowed_audiences'],
      ...['max_task_ttl', 'max_token_ttl', 'max_delegation_depth', 'high_risk_audiences', 'jwks_uri', 'jwks'],
      ...['enabled', 'created_at', 'updated_at'],
    ]);
    const { created_at, updated_at, ...registration } = answer.body;
    expect(registration).to.deep.equal(aRegistrationBody({ max_task_ttl: 'PT20M', jwks_uri: null, enabled: true }));
    expect(created_at).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z$/);
    expect(updated_at).to.equal(created_at);
    const shown = await api.send('get', answer.headers.location ?? '');
    expect(shown.body).to.deep.equal(answer.body);
  });

  it('records agent.registered', async () => {
    await api.send('post', '/admin/agents', aRegistrationBody());
    const [record, ...more] = await api.records();
    expect(more).to.deep.equal([]);
    expect(record).to.include({
      event: 'agent.registered',
      agent_id: 'jira-triage',
      decision: 'allow',
      reason: null,
      delegation_depth: null,
    });
  });

  it('accepts a jwks_uri instead of keys, with null as jwks', async () => {
    const uri = 'https://keys.example/jwks.json';
    const answer = await api.send('post', '/admin/agents', aRegistrationBody({ jwks: null, jwks_uri: uri }));
    expect(answer.status).to.equal(201);
    expect([answer.body.jwks_uri, answer.body.jwks]).to.deep.equal([uri, null]);
  });

  it('sets the defaults of absent fields', async () => {
    const { sponsor_required, max_task_ttl, max_token_ttl, high_risk_audiences, ...rest } = aRegistrationBody();
    const answer = await api.send('post', '/admin/agents', rest);
    expect(answer.body).to.deep.include({
      sponsor_required: true,
      max_task_ttl: 'PT30M',
      max_token_ttl: 'PT5M',
      high_risk_audiences: [],
    });
  });

  it('treats a null lifetime as absent', async () => {
    const body = aRegistrationBody({ max_task_ttl: 'PT2M', max_token_ttl: null });
    const answer = await api.send('post', '/admin/agents', body);
    expect(answer.body).to.include({ max_task_ttl: 'PT2M', max_token_ttl: 'PT2M' });
  });

  it('refuses an existing agent_id with 409, and records the refusal', async () => {
    await api.send('post', '/admin/agents', aRegistrationBody());
    const answer = await api.send('post', '/admin/agents', aRegistrationBody({ display_name: 'Another agent' }));
    expect([answer.status, answer.type]).to.deep.equal([409, 'application/problem+json']);
    expect(answer.body).to.include({ title: 'Conflict', status: 409 });
    expect((await api.send('get', '/admin/agents/jira-triage')).body.display_name).to.equal('Jira triage');
    expect((await api.records()).at(-1)).to.include({
      event: 'agent.registered',
      agent_id: 'jira-triage',
      decision: 'deny',
      reason: 'agent_already_exists',
    });
    expect(api.reasons[1]).to.equal('agent_already_exists');
  });

  it('registers an agent only once for many concurrent requests with its agent_id', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => api.send('post', '/admin/agents', aRegistrationBody())),
    );
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).to.deep.equal([201, ...Array.from({ length: 19 }, () => 409)]);
    const reasons = (await api.records()).map(({ reason }) => reason);
    expect(reasons.filter((reason) => reason === null)).to.have.lengthOf(1);
    expect(reasons.filter((reason) => reason === 'agent_already_exists')).to.have.lengthOf(19);
  });

  it('stores and records nothing when it refuses a body', async () => {
    await errorsOf(aRegistrationBody({ sponsor_required: false }));
    expect((await api.send('get', '/admin/agents')).body.agents).to.deep.equal([]);
    expect(await api.records()).to.deep.equal([]);
  });

  it('accepts a registration that fills the largest body', async () => {
    const scopes = Array.from({ length: 900 }, (_, index) => `scope-${index}-${'x'.repeat(50)}`);
    const body = aRegistrationBody({ allowed_scopes: scopes });
    expect(JSON.stringify(body).length).to.be.within(56_000, 65_536);
    const answer = await api.send('post', '/admin/agents', body);
    expect(answer.status).to.equal(201);
    expect(answer.body.allowed_scopes).to.deep.equal(scopes);
  });
});

describe('POST /admin/agents', () => {
  // A refusal leaves nothing behind, so these tests share one service.
  before(async () => {
    api = await startAdminApi();
  });
  after(async () => {
    expect(await api.records()).to.deep.equal([]);
    await api.stop();
  });

  describe('first checks the shape of the body,', () => {
    it('and names every missing field at once', async () => {
      expect(await errorsOf({})).to.deep.equal({
        agent_id: ['Must be set.'],
        display_name: ['Must be set.'],
        allowed_scopes: ['Must be set.'],
        allowed_audiences: ['Must be set.'],
        max_delegation_depth: ['Must be set.'],
      });
    });

    const wrongTypes: readonly [string, unknown, RegExp][] = [
      ['agent_id', 7, /string/],
      ['display_name', null, /string/],
      ['sponsor_required', 'true', /true or false/],
      ['sponsor_required', null, /true or false/],
      ['allowed_scopes', 'jira:read', /array of strings/],
      ['allowed_scopes', ['a', 7, null], /array of strings/],
      ['allowed_audiences', { 0: 'https://a.example' }, /array of strings/],
      ['max_task_ttl', 1800, /ISO 8601/],
      ['max_task_ttl', '00:30:00', /ISO 8601/],
      ['max_task_ttl', 'P1M', /ISO 8601/],
      ['max_token_ttl', 'PT0S', /ISO 8601/],
      ['max_token_ttl', 'PT0.5S', /ISO 8601/],
      ['max_token_ttl', '', /ISO 8601/],
      ['max_delegation_depth', '1', /integer/],
      ['max_delegation_depth', 1.5, /integer/],
      ['max_delegation_depth', null, /integer/],
      ['high_risk_audiences', null, /array of strings/],
      ['jwks_uri', 7, /string/],
      ['jwks', 'x', /object/],
      ['jwks', [], /object/],
      ['enabled', true, /PATCH/],
      ['created_at', '2026-03-01T00:00:00Z', /not a field/],
      ['Agent_Id', 'x', /not a field/],
      ['constructor', 1, /not a field/],
      ['toString', 1, /not a field/],
    ];
    for (const [field, value, sentence] of wrongTypes) {
      it(`and refuses ${field} ${JSON.stringify(value)} with one error, by name`, async () => {
        const errors = await errorsOf(aRegistrationBody({ [field]: value }));
        expect(Object.keys(errors)).to.deep.equal([field]);
        expect(errors[field]).to.have.lengthOf(1);
        expect(errors[field]?.[0]).to.match(sentence);
      });
    }

    it('and refuses the member __proto__ by name', async () => {
      const body = JSON.stringify(aRegistrationBody()).replace('{', '{"__proto__":{"enabled":false},');
      const answer = await api.send('post', '/admin/agents').set('content-type', 'application/json').send(body);
      expect(answer.status).to.equal(400);
      expect(answer.text).to.include('"__proto__":["Is not a field of a registration."]');
    });

    it('and applies no other rule while the shape is wrong', async () => {
      const errors = await errorsOf(
        aRegistrationBody({ display_name: undefined, sponsor_required: false, max_token_ttl: 'P1D' }),
      );
      expect(Object.keys(errors)).to.deep.equal(['display_name']);
    });

    it('and gives a short answer to thousands of unknown members', async () => {
      const many = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`x${index}`, 1]));
      expect(Object.keys(await errorsOf(many)).length).to.be.at.most(100);
      const long = await errorsOf(aRegistrationBody({ ['x'.repeat(50_000)]: 1 }));
      expect(JSON.stringify(long).length).to.be.below(300);
    });
  });

  describe('then checks the registration as a whole,', () => {
    it('and reports every field at once', async () => {
      const errors = await errorsOf(
        aRegistrationBody({
          agent_id: '../etc',
          sponsor_required: false,
          allowed_scopes: ['a b', 'c', 'c'],
          max_task_ttl: 'PT1M',
          max_token_ttl: 'PT2M',
          max_delegation_depth: 6,
          jwks_uri: 'https://keys.example',
        }),
      );
      expect(Object.keys(errors)).to.have.members([
        ...['agent_id', 'sponsor_required', 'allowed_scopes', 'max_token_ttl', 'max_delegation_depth'],
        ...['jwks_uri', 'jwks'],
      ]);
      expect(errors.sponsor_required).to.deep.equal(['Must be true.']);
      expect(errors.max_token_ttl).to.deep.equal(['Must not be longer than max_task_ttl.']);
    });

    it('and refuses a key whose point is not on its curve', async () => {
      const errors = await errorsOf(aRegistrationBody({ jwks: { keys: [P256_KEY, OFF_CURVE_KEY] } }));
      expect(Object.keys(errors)).to.deep.equal(['jwks']);
      expect(errors.jwks?.[0]).to.match(/^keys\[1\] /);
    });

    it('and refuses a private key without repeating it', async () => {
      const d = 'jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI';
      const body = aRegistrationBody({ jwks: { keys: [{ ...P256_KEY, d }] } });
      const answer = await api.send('post', '/admin/agents', body);
      expect(answer.status).to.equal(400);
      expect(answer.body.errors.jwks[0]).to.match(/private/);
      expect(answer.text + api.log.lines.join()).not.to.include(d.slice(0, 16));
    });

    it('and refuses a jwks_uri on the host of the service', async () => {
      const uri = 'https://mandate.test/agents/jira-triage/jwks.json';
      const errors = await errorsOf(aRegistrationBody({ jwks: undefined, jwks_uri: uri }));
      expect(errors.jwks_uri?.[0]).to.match(/host of its own/);
    });
  });
});
