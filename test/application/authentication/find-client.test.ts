import { expect } from 'chai';
import { describeClient, findClient } from '../../../application/authentication/find-client.ts';
import type { ReadClientDocument } from '../../../application/ports/client-documents.ts';
import type { Agent, AgentKeySource } from '../../../domain/agents/agent.ts';
import { agentIdOf, anAgent } from '../../support/domain-fixtures.ts';
import { P256_KEY } from '../../support/registrations.ts';

const URI = 'https://app.example/client.json';
const NONE: AgentKeySource = { kind: 'none' };
const KEYS: AgentKeySource = { kind: 'inline', jwks: { keys: [P256_KEY] } };
const OF_DOCUMENT = ['https://app.example/of-document'];
const plain = anAgent({ agentId: agentIdOf('plain'), clientIdDocument: undefined, publicClient: false });
const described = anAgent({ agentId: agentIdOf('described'), clientIdDocument: URI });

function service(
  document: ReadClientDocument | AgentKeySource = NONE,
  agents: readonly Agent[] = [plain, described],
  publicClients = true,
) {
  const asked: string[] = [];
  const answer: ReadClientDocument =
    document.kind === 'none' || document.kind === 'inline' || document.kind === 'remote'
      ? { kind: 'read', document: { redirectUris: OF_DOCUMENT, keys: document } }
      : document;
  return {
    asked,
    publicClients,
    agents: {
      find: async (id: string) => agents.find(({ agentId }) => agentId === id),
      findByDocument: async (uri: string) => agents.find(({ clientIdDocument }) => clientIdDocument === uri),
    },
    documents: {
      async read(uri: string) {
        asked.push(uri);
        return answer;
      },
    },
  };
}

describe('findClient', () => {
  it('takes the registration of an agent without a document, and asks no host', async () => {
    const both = { ...plain, publicClient: true };
    const bareName = { ...both, keys: NONE };
    const cases = [
      [plain, true, { isPublic: false, label: 'key' }],
      // Its id alone redeems a code too.
      [both, true, { isPublic: true, label: 'public' }],
      [both, false, { isPublic: false, label: 'key' }],
      [bareName, true, { isPublic: true, label: 'public' }],
    ] as const;
    for (const [agent, publicClients, expected] of cases) {
      const asking = service(NONE, [agent], publicClients);
      expect(await findClient(asking, 'plain')).to.deep.equal({
        kind: 'found',
        client: { agent, redirectUris: agent.redirectUris, keys: agent.keys, ...expected },
      });
      expect(asking.asked).to.deep.equal([]);
    }
    const bare = { ...plain, redirectUris: undefined };
    const found = await findClient(service(NONE, [bare]), 'plain');
    expect(found.kind === 'found' && found.client.redirectUris).to.deep.equal([]);
  });

  it('takes the document in place of the registration, under both names of the client', async () => {
    const unproven = { isPublic: true, label: 'public' } as const;
    const proven = { isPublic: false, label: 'document' } as const;
    const cases = [
      [URI, NONE, unproven],
      [URI, KEYS, proven],
      ['described', NONE, unproven],
      ['described', KEYS, proven],
    ] as const;
    for (const [clientId, keys, expected] of cases) {
      const asking = service(keys);
      expect(await findClient(asking, clientId)).to.deep.equal({
        kind: 'found',
        client: { agent: described, redirectUris: OF_DOCUMENT, keys, ...expected },
      });
      expect(asking.asked).to.deep.equal([URI]);
    }
  });

  it('finds a disabled agent, whose state only the person learns', async () => {
    const disabled = { ...plain, enabled: false };
    expect(await findClient(service(NONE, [disabled]), 'plain')).to.include({ kind: 'found' });
  });

  it('knows no other name, and fetches no address that no registration names', async () => {
    const asking = service();
    for (const clientId of [
      '',
      'unknown',
      'Plain',
      'agent:plain',
      `${URI}?`,
      URI.toUpperCase(),
      'https://169.254.169.254/latest',
      'x'.repeat(10_000),
      '\ud800',
      '__proto__',
    ])
      expect(await findClient(asking, clientId), clientId.slice(0, 40)).to.deep.equal({ kind: 'unknown' });
    expect(asking.asked).to.deep.equal([]);
  });

  it('says whether the document is away or cannot be used, for an agent that is known too', async () => {
    const unavailable = { kind: 'unavailable' } as const;
    const unusable = { kind: 'unusable', problem: 'A sentence.' } as const;
    for (const answer of [unavailable, unusable]) {
      expect(await findClient(service(answer), URI)).to.deep.equal({ ...answer, agent: described });
      expect(await describeClient(service(answer), described)).to.deep.equal({
        ...answer,
        agent: described,
      });
    }
  });
});
