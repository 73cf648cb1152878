import { expect } from 'chai';
import { findAgent } from '../../application/decisions/find.ts';
import type { Agent } from '../../domain/agents/agent.ts';
import { instantFromMicros } from '../../domain/instant.ts';
import { databases } from '../support/databases.ts';
import { agentIdOf, anAgent, NOON } from '../support/domain-fixtures.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { outsideConnection } from './outside-connection.ts';
import {
  anEntry,
  anOpening,
  aRefusal,
  asEntry,
  newAgentId,
  openedTask,
  recordedBy,
  registeredAgent,
} from './storage-fixtures.ts';

// A JSON column of the database would change the order of these members and some of their values.
const KEY = { y: 'eQ', x: 'eA', kty: 'EC', crv: 'P-256', kid: 'é😀\u0000', key_ops: ['verify'], ext: true } as const;
const JWKS = { keys: [{ ...KEY, 'x-note': '__proto__' }] } as const;

const registered = anEntry('agent.registered');
const updated = anEntry('agent.updated', { reason: 'changed:enabled' });
const deleted = anEntry('agent.deleted');
const exists = aRefusal('agent_already_exists', { event: 'agent.registered' });
const hasTasks = aRefusal('agent_has_tasks', { event: 'agent.deleted' });

onEveryDatabase('agents', ({ storage }) => {
  const agents = () => storage().agents;

  it('stores each field of a registered agent with inline keys, and records the registration', async () => {
    const agent = anAgent({
      agentId: newAgentId(),
      displayName: 'Jira — “triage” 😀',
      enabled: false,
      revision: 1,
      keys: { kind: 'inline', jwks: JWKS },
    });
    expect(await agents().find(agent.agentId)).to.equal(undefined);
    const entry = { ...registered, agentId: agent.agentId };
    const records = await recordedBy(storage(), async () => {
      expect(await agents().register(agent, entry, exists)).to.equal('registered');
    });
    expect(records.map(asEntry)).to.deep.equal([entry]);
    const found = await agents().find(agent.agentId);
    expect(found).to.deep.equal(agent);
    expect(JSON.stringify(found?.keys)).to.equal(JSON.stringify(agent.keys));
    const decided = await storage().decide(findAgent, agent);
    expect(JSON.stringify(decided)).to.equal(JSON.stringify(found));
  });

  it('stores each field of an agent whose keys become remote, and records the change', async () => {
    const first = await registeredAgent(storage(), { keys: { kind: 'inline', jwks: JWKS } });
    const next: Agent = {
      ...first,
      displayName: 'Another name',
      allowedScopes: ['wiki:read'],
      allowedAudiences: ['http://wiki.example:8080/a,b'],
      maxTaskTtl: 86_400,
      maxTokenTtl: 3_600,
      maxDelegationDepth: 5,
      highRiskAudiences: [],
      keys: { kind: 'remote', uri: 'https://elsewhere.example/keys?x=1' },
      enabled: false,
      revision: 2,
      createdAt: first.createdAt,
      updatedAt: instantFromMicros(NOON + 999_999),
      keysSince: instantFromMicros(NOON + 999_998),
    };
    const records = await recordedBy(storage(), async () => {
      expect(await agents().replace(next, updated)).to.equal('replaced');
      expect(await agents().replace(next, updated)).to.equal('changed');
    });
    expect(records.map(asEntry)).to.deep.equal([updated]);
    expect(await agents().find(first.agentId)).to.deep.equal(next);
    expect(await storage().decide(findAgent, first)).to.deep.equal(next);
  });

  it('removes an agent, and records the removal', async () => {
    const { agentId } = await registeredAgent(storage());
    const records = await recordedBy(storage(), async () => {
      expect(await agents().remove(agentId, deleted, hasTasks)).to.equal('removed');
      expect(await agents().remove(agentId, deleted, hasTasks)).to.equal('not_found');
    });
    expect(records.map(asEntry)).to.deep.equal([deleted]);
    expect(await agents().find(agentId)).to.equal(undefined);
  });

  describe('list', () => {
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

  it('lets one of twenty concurrent registrations of an id succeed, and records each', async () => {
    const agentId = newAgentId();
    const records = await recordedBy(storage(), async () => {
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, (_, nth) =>
          agents().register(anAgent({ agentId, revision: 1, displayName: `number ${nth}` }), registered, exists),
        ),
      );
      expect(outcomes.filter((outcome) => outcome === 'registered')).to.have.length(1);
    });
    expect(records.filter((record) => record.decision === 'allow')).to.have.length(1);
    expect(records.filter((record) => record.reason === 'agent_already_exists')).to.have.length(19);
  });

  it('refuses a name that the database would alter', async () => {
    for (const displayName of ['nul \u0000', 'lone \ud800']) {
      const agent = anAgent({ agentId: newAgentId(), revision: 1, displayName });
      const thrown = await agents()
        .register(agent, registered, exists)
        .catch((error: unknown) => error);
      expect(thrown).to.be.instanceOf(RangeError);
      expect(await agents().find(agent.agentId)).to.equal(undefined);
    }
  });

  it('lets one of twenty concurrent replacements of a revision succeed', async () => {
    const agent = await registeredAgent(storage());
    const records = await recordedBy(storage(), async () => {
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, (_, nth) =>
          agents().replace({ ...agent, revision: 2, displayName: `number ${nth}` }, updated),
        ),
      );
      expect(outcomes.filter((outcome) => outcome === 'replaced')).to.have.length(1);
      expect(outcomes.filter((outcome) => outcome === 'changed')).to.have.length(19);
    });
    expect(records).to.have.length(1);
  });

  it('keeps an agent of which a live or an ended task is stored, and records the refusal', async () => {
    const opening = await openedTask(storage());
    const { agentId } = opening.task;
    const agent = await agents().find(agentId);
    for (const state of ['live', 'ended']) {
      const records = await recordedBy(storage(), async () => {
        expect(await agents().remove(agentId, deleted, hasTasks), state).to.equal('has_tasks');
      });
      expect(records.map(asEntry)).to.deep.equal([hasTasks]);
      expect(await agents().find(agentId)).to.deep.equal(agent);
      const kill = { at: NOON, reason: 'operator_kill_switch' } as const;
      await storage().tasks.end({ kind: 'agent', agentId }, kill);
    }
  });

  it('never leaves a task without its agent if an exchange and a removal race', async () => {
    for (let round = 0; round < 20; round++) {
      const agent = await registeredAgent(storage());
      const opening = anOpening(agent);
      const [opened, removed] = await Promise.all([
        storage().tasks.open(opening),
        agents().remove(agent.agentId, deleted, hasTasks),
      ]);
      expect([opened.kind, removed]).to.be.deep.oneOf([
        ['opened', 'has_tasks'],
        ['agent_changed', 'removed'],
      ]);
    }
  });
});

onEveryDatabase(
  'agents, when a write fails,',
  (stage) => {
    const { storage } = stage;
    const { expectRollback } = outsideConnection(stage);

    it('do not change if the record cannot be written', async () => {
      const agent = await registeredAgent(storage());
      const other = anAgent({ agentId: newAgentId(), revision: 1 });
      for (const act of [
        () => storage().agents.register(other, registered, exists),
        () => storage().agents.register(agent, registered, exists),
        () => storage().agents.replace({ ...agent, enabled: false, revision: 2 }, updated),
        () => storage().agents.remove(agent.agentId, deleted, hasTasks),
      ]) {
        await expectRollback({ table: 'ledger' }, act);
      }
    });
  },
  databases,
);
