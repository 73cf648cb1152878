import { expect } from 'chai';
import { examineHandOvers } from '../../../application/doctor/agents.ts';
import type { Agents } from '../../../application/ports/agents.ts';
import type { Agent } from '../../../domain/agents/agent.ts';
import { agentIdOf, anAgent } from '../../support/domain-fixtures.ts';

const agent = (id: string, changes: Partial<Agent> = {}) =>
  anAgent({ agentId: agentIdOf(id), delegatesTo: undefined, ...changes });

/** Pages as the database has them. */
function listing(all: readonly Agent[]): Pick<Agents, 'list'> {
  const sorted = all.toSorted((one, other) => (one.agentId < other.agentId ? -1 : 1));
  return {
    list: async ({ after, limit }) =>
      sorted.filter(({ agentId }) => after === undefined || agentId > after).slice(0, limit),
  };
}

const PARENT = 'parent';
const naming = (to: string, changes: Partial<Agent> = {}) =>
  agent(PARENT, { delegatesTo: [agentIdOf(to)], ...changes });

describe('The hand-overs in the report of doctor', () => {
  it('are fine without a delegates_to, and if the two registrations let them succeed', async () => {
    expect(await examineHandOvers(listing([agent('child')]))).to.include({ status: 'ok' });
    const shared = { allowedAudiences: ['https://wiki.example'], allowedScopes: ['jira:comment'] };
    const document = { keys: { kind: 'none' }, clientIdDocument: 'https://client.example/about' } as const;
    for (const child of [
      agent('child'),
      agent('child', { ...shared, maxDelegationDepth: 2 }),
      agent('child', document),
    ])
      expect(await examineHandOvers(listing([naming('child'), child]))).to.include({ status: 'ok' });
    // A disabled agent hands nothing over, which an operator wants.
    expect(await examineHandOvers(listing([naming(PARENT, { enabled: false })]))).to.include({ status: 'ok' });
  });

  for (const [title, parent, child] of [
    ['disabled', {}, { enabled: false }],
    ['max_delegation_depth of child is 1', {}, { maxDelegationDepth: 1 }],
    ['max_delegation_depth of parent is 1', { maxDelegationDepth: 1 }, {}],
    ['no key', {}, { keys: { kind: 'none' }, clientIdDocument: undefined }],
    ['no common audience', {}, { allowedAudiences: ['https://other.example'] }],
    ['no common scope', { allowedScopes: ['jira:Read'] }, {}],
  ] as const) {
    it(`are warned of with the reason: ${title}`, async () => {
      const found = await examineHandOvers(listing([naming('child', parent), agent('child', child)]));
      expect(found.status).to.equal('warning');
      expect(found.sentence)
        .to.match(/cannot take up their work: parent to child \(.+\)\.$/)
        .and.include(`(${title})`);
      expect(found.remedy).to.include('PATCH /admin/agents/{agent_id}');
    });
  }

  it('are warned of for an agent that names itself, and for one that is missing in a restored database', async () => {
    const itself = await examineHandOvers(listing([naming(PARENT, { maxDelegationDepth: 1 })]));
    expect(itself.sentence).to.include('parent to parent (max_delegation_depth of parent is 1)');
    expect((await examineHandOvers(listing([naming('gone')]))).sentence).to.include('parent to gone (not registered)');
  });

  it('are examined beyond one page of agents', async () => {
    const many = Array.from({ length: 2100 }, (_, nth) => agent(`a${nth}`));
    const last = agent('z-last', { delegatesTo: [agentIdOf('a7')], maxDelegationDepth: 1 });
    expect((await examineHandOvers(listing([...many, last]))).sentence).to.include('z-last to a7');
  });
});
