import { expect } from 'chai';
import { changeAgent } from '../../../../application/decisions/write-agent.ts';
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

  it('changes what it carries, keeps the rest, and records the fields in the order of the table', async () => {
    const before = (await api.send('get', PATH)).body;
    api.clock.advance(60);
    const after = await patched({
      enabled: false,
      max_token_ttl: 'PT1M',
      display_name: 'New',
      agent_id: 'jira-triage',
    });
    expect(after.updated_at).not.to.equal(before.updated_at);
    expect(after).to.deep.equal({
      ...before,
      display_name: 'New',
      max_token_ttl: 'PT1M',
      enabled: false,
      updated_at: after.updated_at,
    });
    expect(await lastRecord()).to.include({
      event: 'agent.updated',
      agent_id: 'jira-triage',
      decision: 'allow',
      reason: 'changed:agent_id,display_name,max_token_ttl,enabled',
    });
  });

  it('enables what it disabled', async () => {
    await patched({ enabled: false });
    expect((await patched({ enabled: true })).enabled).to.equal(true);
    expect(await lastRecord()).to.include({ reason: 'changed:enabled' });
  });

  for (const body of [{}, { enabled: true }, { display_name: 'Jira triage', jwks: { keys: [P256_KEY] } }]) {
    it(`records no_change for ${JSON.stringify(body).slice(0, 40)}, which changes nothing`, async () => {
      const before = (await api.send('get', PATH)).body;
      api.clock.advance(60);
      expect(await patched(body)).to.deep.equal(before);
      expect(await lastRecord()).to.include({ event: 'agent.updated', decision: 'allow', reason: 'no_change' });
    });
  }

  describe('judges the merged registration as a whole', () => {
    it('so a task lifetime below the stored token lifetime is refused', async () => {
      expect(await errorsOf({ max_task_ttl: 'PT3M' })).to.deep.equal({
        max_token_ttl: ['Must not be longer than max_task_ttl.'],
      });
    });

    it('so both lifetimes can go down together', async () => {
      const after = await patched({ max_task_ttl: 'PT3M', max_token_ttl: 'PT3M' });
      expect(after).to.include({ max_task_ttl: 'PT3M', max_token_ttl: 'PT3M' });
    });

    const refused: readonly [string, unknown, string][] = [
      ['another agent_id', { agent_id: 'other' }, 'agent_id'],
      ['no sponsor', { sponsor_required: false }, 'sponsor_required'],
      ['no scope', { allowed_scopes: [] }, 'allowed_scopes'],
      ['no audience', { allowed_audiences: [] }, 'allowed_audiences'],
      ['a depth of 6', { max_delegation_depth: 6 }, 'max_delegation_depth'],
      ['a lifetime out of bounds', { max_task_ttl: 'P2D' }, 'max_task_ttl'],
      ['a key off its curve', { jwks: { keys: [OFF_CURVE_KEY] } }, 'jwks'],
      ['a jwks_uri over http', { jwks_uri: 'http://keys.example' }, 'jwks_uri'],
      ['a null name', { display_name: null }, 'display_name'],
      ['a null switch', { enabled: null }, 'enabled'],
      ['a switch in words', { enabled: 'false' }, 'enabled'],
      ['null for high-risk audiences', { high_risk_audiences: null }, 'high_risk_audiences'],
      ['an unknown member', { updated_at: 'now' }, 'updated_at'],
    ];
    for (const [what, body, field] of refused) {
      it(`so ${what} is refused by name, and nothing is changed or recorded`, async () => {
        expect(Object.keys(await errorsOf(body))).to.deep.equal([field]);
      });
    }

    it('so both sources of keys at once are refused', async () => {
      const both = { jwks: { keys: [P256_KEY] }, jwks_uri: 'https://keys.example' };
      expect(Object.keys(await errorsOf(both))).to.have.members(['jwks_uri', 'jwks']);
    });

    it('so taking the only source of keys away is refused', async () => {
      expect(Object.keys(await errorsOf({ jwks: null }))).to.have.members(['jwks_uri', 'jwks']);
    });
  });

  it('sets a lifetime back to its default with null', async () => {
    expect(await patched({ max_task_ttl: null })).to.include({ max_task_ttl: 'PT30M', max_token_ttl: 'PT4M' });
    expect(await lastRecord()).to.include({ reason: 'changed:max_task_ttl' });
    expect(await patched({ max_token_ttl: null })).to.include({ max_task_ttl: 'PT30M', max_token_ttl: 'PT5M' });
  });

  it('puts a jwks_uri in the place of keys, and keys in the place of a jwks_uri', async () => {
    const uri = 'https://keys.example/jwks.json';
    expect(await patched({ jwks_uri: uri })).to.deep.include({ jwks_uri: uri, jwks: null });
    const jwks = { keys: [{ ...P256_KEY, kid: 'second' }] };
    expect(await patched({ jwks, jwks_uri: null })).to.deep.include({ jwks_uri: null, jwks });
    expect(await lastRecord()).to.include({ reason: 'changed:jwks_uri,jwks' });
  });

  it('applies changes that come at once one after the other, losing none', async () => {
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

  for (const id of [
    'nobody',
    'Upper',
    '..',
    '%2e%2e',
    '..%2Faudit',
    '__proto__',
    '%00',
    'x'.repeat(129),
    '%F0%9F%98%80',
  ]) {
    it(`answers 404 for ${id.slice(0, 20)} and records nothing`, async () => {
      const head = 'Host: x\r\nAuthorization: Bearer an-admin-key-of-these-tests-0123456789abcdef\r\nConnection: close';
      const answer = await api.raw(
        `PATCH /admin/agents/${id} HTTP/1.1\r\n${head}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`,
      );
      expect(answer).to.match(/^HTTP\/1\.1 404 /);
      expect(answer).to.include('application/problem+json');
      expect(await api.records()).to.have.lengthOf(1);
    });
  }
});

describe('a change that loses to other changes every time', () => {
  it('gets 503, a second to wait and a sentence that says so, and is neither stored nor recorded', async () => {
    const api = await startAdminApi({
      decisions: (real) => ({
        decide: async (decision, input) =>
          decision.name === changeAgent.name ? ('changed' as never) : real.decide(decision, input),
      }),
    });
    await api.send('post', '/admin/agents', aRegistrationBody());
    const answer = await api.send('patch', PATH, { enabled: false });
    expect([answer.status, answer.headers['retry-after'], answer.type]).to.deep.equal([
      503,
      '1',
      'application/problem+json',
    ]);
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

describe('an agent whose registration has fallen out of later settings', () => {
  it('can still be disabled, and nothing else until it fits again', async () => {
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
