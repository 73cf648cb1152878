import { expect } from 'chai';
import { updateAgent } from '../../../application/admin/update-agent.ts';
import type { Agents } from '../../../application/ports/agents.ts';
import type { Decisions } from '../../../application/ports/decisions.ts';
import { agentIdOf, anAgent } from '../../support/domain-fixtures.ts';
import { movedClock } from '../../support/moved-clock.ts';
import { RULES } from '../../support/registrations.ts';
import { openTestDatabase, type TestDatabase } from '../../support/test-database.ts';

const ID = agentIdOf('jira-triage');

describe('changing an agent', () => {
  const clock = movedClock();
  let storage: TestDatabase;
  let pauses: number[];
  beforeEach(async () => {
    pauses = [];
    storage = await openTestDatabase();
    const agent = anAgent({ revision: 1 });
    const entry = { at: clock.now(), event: 'agent.registered', agentId: ID, decision: 'allow' } as const;
    await storage.agents.register(agent, entry, { ...entry, decision: 'deny' });
  });
  afterEach(() => storage.close());

  const service = (agents: Agents, decisions: Decisions = storage) => ({
    decisions,
    agents,
    clock,
    retryPause: async (longestMs: number) => {
      pauses.push(longestMs);
    },
    rules: RULES,
    agentKeys: { isUsable: async () => true },
  });
  const recorded = async () =>
    (await storage.ledger.page({ limit: 1000, now: clock.now() })).records.slice(1).map(({ reason }) => reason);

  it('changes an agent that the read does not find, but the deciding transaction knows', async () => {
    let reads = 0;
    const outdated: Agents = {
      ...storage.agents,
      find: async (agentId) => (reads++ === 0 ? undefined : storage.agents.find(agentId)),
    };
    const outcome = await updateAgent(service(outdated), ID, { displayName: 'Other' });
    expect(outcome).to.have.property('kind', 'updated');
    expect(await recorded()).to.deep.equal(['changed:display_name']);
  });

  it('merges the patch into a change that another client stored after the first read', async () => {
    let raced = false;
    const { agents } = storage;
    const racing: Agents = {
      ...agents,
      async find(agentId) {
        const found = await agents.find(agentId);
        if (!raced) {
          raced = true;
          await updateAgent(service(agents), ID, { displayName: 'In between' });
        }
        return found;
      },
    };
    // Merging into the first read would undo the other client's change.
    const outcome = await updateAgent(service(racing), ID, { maxTokenTtl: 60 });
    expect(outcome.kind).to.equal('updated');
    const stored = await agents.find(ID);
    expect([stored?.displayName, stored?.maxTokenTtl, stored?.revision]).to.deep.equal(['In between', 60, 3]);
    expect(await recorded()).to.deep.equal(['changed:display_name', 'changed:max_token_ttl']);
    expect(pauses).to.deep.equal([20]);
  });

  it('keeps the time of its keys until they change', async () => {
    const { agents } = storage;
    const before = (await agents.find(ID))?.keysSince;
    clock.advance(60);
    await updateAgent(service(agents), ID, { displayName: 'Other', jwksUri: 'https://keys.example/jwks.json' });
    expect((await agents.find(ID))?.keysSince).to.equal(before);
    clock.advance(60);
    await updateAgent(service(agents), ID, { jwksUri: 'https://elsewhere.example/jwks.json' });
    const changed = await agents.find(ID);
    expect(changed?.keysSince).to.equal(changed?.updatedAt);
    expect(changed?.keysSince).to.be.greaterThan(Number(before));
  });

  it('answers not_found if the agent is removed after the lookup', async () => {
    const { agents } = storage;
    const entry = { at: clock.now(), event: 'agent.deleted', agentId: ID, decision: 'allow' } as const;
    const racing: Agents = {
      ...agents,
      async find(agentId) {
        const found = await agents.find(agentId);
        await storage.agents.remove(ID, entry, { ...entry, decision: 'deny' });
        return found;
      },
    };
    expect((await updateAgent(service(racing), ID, { enabled: false })).kind).to.equal('not_found');
    expect(await agents.find(ID)).to.equal(undefined);
  });

  it('backs off after each conflict, and finally gives up without a write', async () => {
    const restless: Decisions = { decide: async () => 'changed' as never };
    expect(await updateAgent(service(storage.agents, restless), ID, { enabled: false })).to.deep.equal({
      kind: 'kept_changing',
    });
    expect(pauses.slice(0, 7)).to.deep.equal([20, 40, 80, 160, 320, 640, 640]);
    expect(pauses).to.have.lengthOf(29);
    expect(await recorded()).to.deep.equal([]);
  });

  it('refuses new keys that cannot be imported', async () => {
    const jwks = {
      keys: [
        {
          kty: 'EC',
          crv: 'P-256',
          x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
          y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
        },
      ],
    };
    const unusable = { ...service(storage.agents), agentKeys: { isUsable: async () => false } };
    const outcome = await updateAgent(unusable, ID, { jwks });
    expect(outcome.kind === 'invalid' && outcome.errors.map(({ field }) => field)).to.deep.equal(['jwks']);
  });
});
