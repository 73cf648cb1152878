import { expect } from 'chai';
import { acceptedAfterStop } from '../../../application/me/accepted-after-stop.ts';
import type { LongTokens } from '../../../application/ports/agents.ts';
import { agentIdOf } from '../../support/domain-fixtures.ts';

describe('How long tokens are accepted after a stop', () => {
  const among = (...lives: readonly number[]) => {
    const stored = lives.map((maxTokenTtl, nth): LongTokens => ({ agentId: agentIdOf(`a${nth}`), maxTokenTtl }));
    const agents = { longestTokens: async ({ limit }: { readonly limit: number }) => stored.slice(0, limit) };
    return acceptedAfterStop({ agents, maxTokenTtl: 300 });
  };

  it('is the longest life of a registered agent, also above the bound of the settings, and a clock skew', async () => {
    expect(await among(14_400, 60)).to.equal(14_400 + 60);
    expect(await among(60)).to.equal(60 + 60);
  });

  it('is by the bound of the settings as long as there is no agent', async () => {
    expect(await among()).to.equal(300 + 60);
  });
});
