import { expect } from 'chai';
import { monotonicFactory } from 'ulid';
import type { SponsorKey, TaskId } from '../../../../domain/identifiers.ts';
import { makeTaskId } from '../../../../domain/identifiers.ts';
import { plusSeconds } from '../../../../domain/instant.ts';
import { type AdminApi, startAdminApi } from '../../../support/admin-api.ts';
import { agentIdOf, aTask } from '../../../support/domain-fixtures.ts';
import { aRegistrationBody } from '../../../support/registrations.ts';

/** Monotonic: of two tasks of the same millisecond the earlier one has the lower id, and ends first. */
const ulid = monotonicFactory();

describe('The kill switches', () => {
  let api: AdminApi;
  beforeEach(async () => {
    api = await startAdminApi();
    for (const id of ['jira-triage', 'wiki-writer']) {
      await api.send('post', '/admin/agents', aRegistrationBody({ agent_id: id }));
    }
  });
  afterEach(() => api.stop());

  async function open(agent: string, sponsorKey: string, parentTaskId?: TaskId): Promise<TaskId> {
    const agentId = agentIdOf(agent);
    const stored = await api.storage.agents.find(agentId);
    const taskId = makeTaskId(ulid());
    const at = api.clock.now();
    const task = aTask({
      status: undefined,
      taskId,
      agentId,
      parentTaskId,
      createdAt: at,
      expiresAt: plusSeconds(at, 600),
      sponsorKey: sponsorKey as SponsorKey,
    });
    const opened = await api.storage.tasks.open({
      task,
      grantHash: taskId.padEnd(64, '0'),
      assertion: { agentId, jti: taskId, forgetAt: task.expiresAt },
      agentRevision: stored?.revision ?? 0,
      entry: { at, event: 'token.issued', taskId, agentId, decision: 'allow' },
    });
    expect(opened.kind).to.equal('opened');
    return taskId;
  }
  const endings = async () =>
    (await api.records())
      .filter(({ event }) => event === 'task.revoked')
      .map(({ task_id, reason }) => [task_id, reason]);

  it('end one task and the tasks delegated from it, and nothing the second time', async () => {
    const task = await open('jira-triage', 'ada');
    const child = await open('wiki-writer', 'ada', task);
    await open('jira-triage', 'ada');
    const answer = await api.send('delete', `/admin/tasks/${task}`);
    expect([answer.status, answer.body]).to.deep.equal([200, { revoked_tasks: 2 }]);
    expect(answer.headers['cache-control']).to.equal('no-store');
    const again = await api.send('delete', `/admin/tasks/${task}`);
    expect([again.status, again.body]).to.deep.equal([200, { revoked_tasks: 0 }]);
    expect(await endings()).to.deep.equal([
      [task, 'operator_kill_switch'],
      [child, 'parent_revoked'],
    ]);
  });

  it('end every task of an agent', async () => {
    const tasks = [await open('jira-triage', 'ada'), await open('jira-triage', 'grace')];
    await open('wiki-writer', 'ada');
    const answer = await api.send('delete', '/admin/agents/jira-triage/tasks');
    expect([answer.status, answer.body]).to.deep.equal([200, { revoked_tasks: 2 }]);
    expect((await api.send('delete', '/admin/agents/jira-triage/tasks')).body).to.deep.equal({ revoked_tasks: 0 });
    expect(await endings()).to.deep.equal(tasks.map((task) => [task, 'operator_kill_switch']));
  });

  it('end every task of a person without blocking the person', async () => {
    const key = 'ada/é😀';
    const where = `/admin/sponsors/${encodeURIComponent(key)}`;
    const tasks = [await open('jira-triage', key), await open('wiki-writer', key)];
    await open('jira-triage', 'grace');
    const answer = await api.send('delete', `${where}/tasks`);
    expect([answer.status, answer.body]).to.deep.equal([200, { revoked_tasks: 2 }]);
    expect((await api.send('delete', `${where}/tasks`)).body).to.deep.equal({ revoked_tasks: 0 });
    expect((await api.send('delete', '/admin/sponsors/nobody/tasks')).body).to.deep.equal({ revoked_tasks: 0 });
    expect((await api.send('get', where)).status).to.equal(404);
    expect(await endings()).to.deep.equal(tasks.map((task) => [task, 'operator_kill_switch']));
    await open('jira-triage', key);
  });

  it('end the tasks of a person when an operator blocks the person', async () => {
    const task = await open('jira-triage', 'ada');
    const answer = await api.send('put', '/admin/sponsors/ada/block');
    expect([answer.status, answer.body.revoked_tasks]).to.deep.equal([200, 1]);
    expect(await endings()).to.deep.equal([[task, 'sponsor_blocked']]);
    expect((await api.send('put', '/admin/sponsors/ada/block')).body.revoked_tasks).to.equal(0);
  });

  it('end the tasks of a person when another source has already blocked the person, and keep that block', async () => {
    const task = await open('jira-triage', 'ada');
    await api.storage.sponsors.block(
      {
        sponsorKey: 'ada' as SponsorKey,
        source: 'scim',
        kind: 'deleted',
        blockedAt: plusSeconds(api.clock.now(), 700),
      },
      'scim_deleted',
    );
    expect(await endings()).to.deep.equal([]);
    const answer = await api.send('put', '/admin/sponsors/ada/block');
    const { others, ...first } = answer.body.sponsor;
    expect(first).to.include({ source: 'admin', kind: 'disabled' });
    expect(others).to.have.length(1);
    expect(others[0]).to.include({ source: 'scim', kind: 'deleted' });
    expect(answer.body.revoked_tasks).to.equal(1);
    expect(await endings()).to.deep.equal([[task, 'sponsor_blocked']]);
  });

  it('answer 401 without the admin key, and end nothing', async () => {
    const task = await open('jira-triage', 'ada');
    for (const where of [`/admin/tasks/${task}`, '/admin/agents/jira-triage/tasks', '/admin/sponsors/ada/tasks']) {
      expect((await api.stranger.delete(where)).status).to.equal(401);
    }
    expect(await endings()).to.deep.equal([]);
  });
});
