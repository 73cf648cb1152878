import { expect } from 'chai';
import { makeTaskId } from '../../../../domain/identifiers.ts';
import { type AdminApi, startAdminApi } from '../../../support/admin-api.ts';
import { agentIdOf, aTask } from '../../../support/domain-fixtures.ts';
import { aRegistrationBody } from '../../../support/registrations.ts';

describe('GET and DELETE /admin/agents/{agent_id}', () => {
  let api: AdminApi;
  beforeEach(async () => {
    api = await startAdminApi();
    await api.send('post', '/admin/agents', aRegistrationBody());
  });
  afterEach(() => api.stop());

  it('shows the agent', async () => {
    const answer = await api.send('get', '/admin/agents/jira-triage');
    expect(answer.status).to.equal(200);
    expect(answer.body.agent_id).to.equal('jira-triage');
    expect(answer.headers['cache-control']).to.equal('no-store');
  });

  it('removes the agent with 204, and records the removal', async () => {
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

  it('refuses with 409 to remove an agent that has a stored task, and records the refusal', async () => {
    const task = aTask({ delegatedBy: [] });
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
});

describe('GET /admin/agents', () => {
  let api: AdminApi;
  before(async () => {
    api = await startAdminApi();
    // Registers the agents in another order than that of their ids.
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

  it('answers every agent in the order of the ids', async () => {
    expect(await list('')).to.deep.equal([all, null]);
  });

  it('shows each agent as GET /admin/agents/{agent_id} does', async () => {
    const [first] = (await api.send('get', '/admin/agents')).body.agents;
    expect(first).to.deep.equal((await api.send('get', '/admin/agents/7')).body);
  });

  it('pages with limit and after, and names the next page', async () => {
    expect(await list('?limit=2')).to.deep.equal([['7', 'a'], 'a']);
    expect(await list('?limit=2&after=a')).to.deep.equal([['a-b', 'a.b'], 'a.b']);
    expect(await list('?limit=2&after=a.b')).to.deep.equal([['a_b', 'c'], null]);
    expect(await list('?after=a.b')).to.deep.equal([['a_b', 'c'], null]);
    expect(await list('?limit=1000')).to.deep.equal([all, null]);
    expect(await list('?after=zzz&limit=1')).to.deep.equal([[], null]);
  });
});
