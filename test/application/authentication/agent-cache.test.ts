import { expect } from 'chai';
import { agentCache } from '../../../application/authentication/agent-cache.ts';
import type { Agent } from '../../../domain/agents/agent.ts';
import { agentIdOf, anAgent } from '../../support/domain-fixtures.ts';

describe('the agent cache', () => {
  const id = agentIdOf('jira-triage');
  let stored: Agent | undefined;
  let readings: number;
  const source = {
    find: async () => {
      readings += 1;
      return stored;
    },
  };
  beforeEach(() => {
    stored = anAgent({ revision: 7 });
    readings = 0;
  });

  it('reads an agent once for any number of requests', async () => {
    const cached = agentCache(source);
    for (let request = 0; request < 5; request += 1) expect((await cached().find(id))?.revision).to.equal(7);
    expect(readings).to.equal(1);
  });

  it('reads a cached agent again before a refusal, unless this request has just read it', async () => {
    const cached = agentCache(source);
    const first = cached();
    await first.find(id);
    expect(await first.confirm()).to.equal(true);
    expect(readings).to.equal(1);
    const second = cached();
    await second.find(id);
    stored = anAgent({ revision: 8 });
    expect(await second.confirm()).to.equal(false);
    expect((await second.find(id))?.revision).to.equal(8);
  });

  it('does not cache a missing agent, and drops a removed agent', async () => {
    const cached = agentCache(source);
    await cached().find(id);
    const request = cached();
    await request.find(id);
    stored = undefined;
    expect(await request.confirm()).to.equal(false);
    expect(await request.find(id)).to.equal(undefined);
    stored = anAgent({ revision: 9 });
    expect((await cached().find(id))?.revision).to.equal(9);
  });

  it('drops a cached agent if a decision finds that the agent has changed', async () => {
    const cached = agentCache(source);
    await cached().find(id);
    const request = cached();
    await request.find(id);
    stored = anAgent({ revision: 8 });
    request.forget();
    expect((await request.find(id))?.revision).to.equal(8);
  });

  it('drops an agent that a decision finds changed, even if this request has just read it', async () => {
    const cached = agentCache(source);
    const request = cached();
    await request.find(id);
    stored = anAgent({ revision: 8 });
    request.forget();
    expect((await request.find(id))?.revision).to.equal(8);
    expect(readings).to.equal(2);
  });

  it('keeps an agent that another request has read after the change', async () => {
    const cached = agentCache(source);
    await cached().find(id);
    const [slow, quick] = [cached(), cached()];
    await slow.find(id);
    await quick.find(id);
    stored = anAgent({ revision: 8 });
    quick.forget();
    await quick.find(id);
    slow.forget();
    expect((await slow.find(id))?.revision).to.equal(8);
    expect(readings).to.equal(2);
  });
});
