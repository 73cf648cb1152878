import { expect } from 'chai';
import { makeTaskId } from '../../../../domain/identifiers.ts';
import { type AdminApi, startAdminApi } from '../../../support/admin-api.ts';
import { agentIdOf, aTask } from '../../../support/domain-fixtures.ts';
import { aRegistrationBody } from '../../../support/registrations.ts';

/** A path as it stands in a request, which no client has tidied. */
async function statusOf(api: AdminApi, method: string, path: string): Promise<string | undefined> {
  const key = 'Authorization: Bearer an-admin-key-of-these-tests-0123456789abcdef';
  const answer = await api.raw(`${method} ${path} HTTP/1.1\r\nHost: x\r\n${key}\r\nConnection: close\r\n\r\n`);
  expect(answer).to.include('application/problem+json');
  return answer.split(' ')[1];
}

describe('GET and DELETE of an agent', () => {
  let api: AdminApi;
  beforeEach(async () => {
    api = await startAdminApi();
    await api.send('post', '/admin/agents', aRegistrationBody());
  });
  afterEach(() => api.stop());

  it('shows an agent', async () => {
    const answer = await api.send('get', '/admin/agents/jira-triage');
    expect(answer.status).to.equal(200);
    expect(answer.body.agent_id).to.equal('jira-triage');
    expect(answer.headers['cache-control']).to.equal('no-store');
  });

  it('removes an agent with 204, and records that', async () => {
    const answer = await api.send('delete', '/admin/agents/jira-triage');
    expect([answer.status, answer.text]).to.deep.equal([204, '']);
    expect((await api.send('get', '/admin/agents/jira-triage')).status).to.equal(404);
    expect((await api.records()).at(-1)).to.include({
      event: 'agent.deleted',
      agent_id: 'jira-triage',
      decision: 'allow',
      reason: null,
    });
    expect((await api.send('delete', '/admin/agents/jira-triage')).status).to.equal(404);
    expect(await api.records()).to.have.lengthOf(2);
  });

  it('refuses to remove an agent of which a task is stored with 409, and records that', async () => {
    const task = aTask({ parentTaskId: undefined });
    const stored = await api.storage.agents.find(agentIdOf('jira-triage'));
    const opened = await api.storage.tasks.open({
      task,
      grantHash: 'a'.repeat(64),
      assertion: { agentId: agentIdOf('jira-triage'), jti: 'j', forgetAt: task.expiresAt },
      agentRevision: stored?.revision ?? 0,
      entry: {
        at: api.clock.now(),
        event: 'token.issued',
        taskId: makeTaskId('01M31S7W68TMK7WDX8YKPSYTES'),
        decision: 'allow',
      },
    });
    expect(opened.kind).to.equal('opened');
    const answer = await api.send('delete', '/admin/agents/jira-triage');
    expect([answer.status, answer.type]).to.deep.equal([409, 'application/problem+json']);
    expect((await api.send('get', '/admin/agents/jira-triage')).status).to.equal(200);
    expect((await api.records()).at(-1)).to.include({
      event: 'agent.deleted',
      agent_id: 'jira-triage',
      decision: 'deny',
      reason: 'agent_has_tasks',
    });
  });

  for (const id of [
    'nobody',
    'Upper',
    '..',
    '%2e%2e',
    '..%2Faudit',
    '__proto__',
    '%00',
    'x'.repeat(2000),
    '%F0%9F%98%80',
  ]) {
    it(`answers 404 for ${id.slice(0, 20)}`, async () => {
      expect(await statusOf(api, 'GET', `/admin/agents/${id}`)).to.equal('404');
      expect(await statusOf(api, 'DELETE', `/admin/agents/${id}`)).to.equal('404');
      expect(await api.records()).to.have.lengthOf(1);
    });
  }

  for (const id of ['%', '%zz', '%c3%28', '%ed%a0%80']) {
    it(`answers 400 for ${id}, which is no text`, async () => {
      expect(await statusOf(api, 'GET', `/admin/agents/${id}`)).to.equal('400');
      expect(api.log.lines.filter((line) => line.includes('"error"'))).to.deep.equal([]);
    });
  }

  const methods: readonly ['put' | 'delete' | 'post' | 'options', string, string][] = [
    ['put', '/admin/agents', 'GET, HEAD, POST'],
    ['delete', '/admin/agents', 'GET, HEAD, POST'],
    ['options', '/admin/agents', 'GET, HEAD, POST'],
    ['put', '/admin/agents/jira-triage', 'GET, HEAD, PATCH, DELETE'],
    ['post', '/admin/agents/jira-triage', 'GET, HEAD, PATCH, DELETE'],
  ];
  for (const [method, path, allow] of methods) {
    it(`answers 405 to ${method.toUpperCase()} ${path}, saying what is allowed`, async () => {
      const answer = await api.send(method, path);
      expect([answer.status, answer.headers.allow]).to.deep.equal([405, allow]);
      expect(answer.body).to.include({ title: 'Method Not Allowed', status: 405 });
    });
  }
});

describe('GET /admin/agents', () => {
  let api: AdminApi;
  before(async () => {
    api = await startAdminApi();
    // In another order than their ids'.
    for (const id of ['c', 'a.b', 'a-b', 'a_b', 'a', '7']) {
      await api.send('post', '/admin/agents', aRegistrationBody({ agent_id: id }));
    }
  });
  after(() => api.stop());

  const list = async (query: string) => {
    const { status, body } = await api.send('get', `/admin/agents${query}`);
    expect(status).to.equal(200);
    return [body.agents.map(({ agent_id }: Record<string, unknown>) => agent_id), body.next_after];
  };
  const all = ['7', 'a', 'a-b', 'a.b', 'a_b', 'c'];

  it('answers every agent in the order of their ids', async () => {
    expect(await list('')).to.deep.equal([all, null]);
  });

  it('shows each as GET of the agent does', async () => {
    const [first] = (await api.send('get', '/admin/agents')).body.agents;
    expect(first).to.deep.equal((await api.send('get', '/admin/agents/7')).body);
  });

  it('pages on from next_after', async () => {
    expect(await list('?limit=2')).to.deep.equal([['7', 'a'], 'a']);
    expect(await list('?limit=2&after=a')).to.deep.equal([['a-b', 'a.b'], 'a.b']);
    expect(await list('?limit=2&after=a.b')).to.deep.equal([['a_b', 'c'], null]);
    expect(await list('?after=a.b')).to.deep.equal([['a_b', 'c'], null]);
    expect(await list('?limit=1000')).to.deep.equal([all, null]);
    expect(await list('?after=zzz&limit=1')).to.deep.equal([[], null]);
  });

  const bad: readonly [string, string[]][] = [
    ['limit=0', ['limit']],
    ['limit=1001', ['limit']],
    ['limit=-1', ['limit']],
    ['limit=1e2', ['limit']],
    ['limit=', ['limit']],
    ['after=Upper', ['after']],
    ['limit=1&limit=2', ['limit']],
    ['limit=%zz', ['limit']],
    ['limt=5', ['limt']],
    ['limit=x&after=&page=2', ['page', 'limit', 'after']],
    ['__proto__=1', ['__proto__']],
  ];
  for (const [query, fields] of bad) {
    it(`refuses ?${query} by field`, async () => {
      const answer = await api.send('get', `/admin/agents?${query}`);
      expect([answer.status, Object.keys(answer.body.errors)]).to.deep.equal([400, fields]);
    });
  }
});
