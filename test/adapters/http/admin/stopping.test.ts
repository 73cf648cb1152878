import { expect } from 'chai';
import type { TaskOpening } from '../../../../application/decisions/open-task.ts';
import type { SponsorKey, TaskId } from '../../../../domain/identifiers.ts';
import { plusSeconds } from '../../../../domain/instant.ts';
import { aChildOpening, anOpening } from '../../../contract/storage-fixtures.ts';
import { type AdminApi, startAdminApi } from '../../../support/admin-api.ts';
import { agentIdOf } from '../../../support/domain-fixtures.ts';
import { aRegistrationBody } from '../../../support/registrations.ts';

describe('The kill switches', () => {
  let api: AdminApi;
  beforeEach(async () => {
    api = await startAdminApi();
    for (const id of ['jira-triage', 'wiki-writer']) {
      await api.send('post', '/admin/agents', aRegistrationBody({ agent_id: id }));
    }
  });
  afterEach(() => api.stop());

  const openings = new Map<TaskId, TaskOpening>();

  async function open(agent: string, sponsorKey: string, parent?: TaskId): Promise<TaskId> {
    const found = await api.storage.agents.find(agentIdOf(agent));
    if (found === undefined) throw new Error(`${agent} is not registered`);
    const createdAt = api.clock.now();
    const changes = { createdAt, expiresAt: plusSeconds(createdAt, 600), sponsorKey: sponsorKey as SponsorKey };
    const above = parent && openings.get(parent);
    const opening = above === undefined ? anOpening(found, changes) : aChildOpening(found, above, changes);
    expect((await api.storage.tasks.open(opening)).kind).to.equal('opened');
    const { taskId } = opening.task;
    openings.set(taskId, opening);
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
