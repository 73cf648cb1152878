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

  it('finds the one whose client document has a URL, compared exactly, and none by text that is no URL', async () => {
    const uri = 'https://app.example/list/client.json';
    const agent = await registeredAgent(storage(), { agentId: agentIdOf('list-of-document'), clientIdDocument: uri });
    expect(await agents().findByDocument(uri)).to.deep.equal(agent);
    for (const other of [
      `${uri}?`,
      uri.toUpperCase(),
      '',
      'list-of-document',
      `${uri}\u0000`,
      '\ud800',
      `${uri}\ud800`,
    ])
      expect(await agents().findByDocument(other), JSON.stringify(other)).to.equal(undefined);
  });

  it('has the public clients that a program may register as, in order: enabled, with redirect URIs, without a document', async () => {
    const asked = { publicClient: true, enabled: true, clientIdDocument: undefined };
    const all = {
      'public-b': { keys: { kind: 'none' } as const },
      'public-a': {},
      'public-disabled': { enabled: false },
      'public-not': { publicClient: false },
      'public-without-redirect': { redirectUris: undefined },
      'public-of-document': { clientIdDocument: 'https://app.example/public/client.json' },
    };
    const registered = [];
    for (const [id, changes] of Object.entries(all)) {
      registered.push(await registeredAgent(storage(), { ...asked, agentId: agentIdOf(id), ...changes }));
    }
    const [second, first] = registered;
    const found = await agents().publicClients();
    expect(found.filter(({ agentId }) => agentId.startsWith('public-'))).to.deep.equal([first, second]);
  });

  it('has those with the longest tokens first, above a length, at most the given number', async () => {
    const lives = { 'ttl-a': 90_001, 'ttl-b': 90_003, 'ttl-c': 90_002, 'ttl-d': 90_003 };
    for (const [id, maxTokenTtl] of Object.entries(lives)) {
      await registeredAgent(storage(), { agentId: agentIdOf(id), maxTokenTtl });
    }
    const longest = await agents().longestTokens({ above: 90_001, limit: 9 });
    expect(longest.map(({ agentId, maxTokenTtl }) => [agentId, maxTokenTtl])).to.deep.equal([
      ['ttl-d', 90_003],
      ['ttl-b', 90_003],
      ['ttl-c', 90_002],
    ]);
    expect(await agents().longestTokens({ above: 0, limit: 1 })).to.deep.equal(longest.slice(0, 1));
    expect(await agents().longestTokens({ above: 90_003, limit: 9 })).to.deep.equal([]);
  });
});
