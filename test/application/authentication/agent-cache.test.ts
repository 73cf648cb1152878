import { expect } from 'chai';
import { agentCache } from '../../../application/authentication/agent-cache.ts';
import type { Agent } from '../../../domain/agents/agent.ts';
import { agentIdOf, anAgent } from '../../support/domain-fixtures.ts';

describe('remembered agents', () => {
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

  it('are read once for any number of requests', async () => {
    const cached = agentCache(source);
    for (let request = 0; request < 5; request += 1) expect((await cached().find(id))?.revision).to.equal(7);
    expect(readings).to.equal(1);
  });

  it('confirm a refusal only on what storage says now', async () => {
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

  it('never remember that an agent is not there, nor keep one that was removed', async () => {
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

  it('forget what a decision found changed', async () => {
    const cached = agentCache(source);
    await cached().find(id);
    const request = cached();
    await request.find(id);
    stored = anAgent({ revision: 8 });
    request.forget();
    expect((await request.find(id))?.revision).to.equal(8);
  });

  it('forget what was only just read, too', async () => {
    const cached = agentCache(source);
    const request = cached();
    await request.find(id);
    stored = anAgent({ revision: 8 });
    request.forget();
    expect((await request.find(id))?.revision).to.equal(8);
    expect(readings).to.equal(2);
  });

  it('keep what another request has read since', async () => {
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
