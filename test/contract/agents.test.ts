import { expect } from 'chai';
import { agentIdOf } from '../support/domain-fixtures.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { registeredAgent } from './storage-fixtures.ts';

onEveryDatabase('the list of agents', ({ storage }) => {
  const agents = () => storage().agents;
  const ids = ['list-', 'list-z', 'list.a', 'list0', 'list_', 'lista', 'listaa', 'listb'];

  before(async () => {
    for (const id of ids.toReversed()) await registeredAgent(storage(), { agentId: agentIdOf(id) });
  });

  const listed = async (page: Parameters<ReturnType<typeof agents>['list']>[0]) =>
    (await agents().list(page)).map((agent) => agent.agentId).filter((id) => id.startsWith('list'));

  it('is in the order of code points, whatever the collation of the database', async () => {
    expect(await listed({})).to.deep.equal(ids);
  });

  it('begins after the given agent, and returns at most the given number of agents', async () => {
    const [agent] = await agents().list({ after: agentIdOf('list_'), limit: 1 });
    expect(agent).to.deep.equal(await agents().find(agentIdOf('lista')));
    expect(await listed({ after: agentIdOf('list-z'), limit: 3 })).to.deep.equal(['list.a', 'list0', 'list_']);
    expect(await listed({ after: agentIdOf('listaa') })).to.deep.equal(['listb']);
    expect(await listed({ after: agentIdOf('list-y'), limit: 1 })).to.deep.equal(['list-z']);
  });
});
