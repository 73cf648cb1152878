import { expect } from 'chai';
import type { Agent } from '../../domain/agents/agent.ts';
import { instantFromMicros } from '../../domain/instant.ts';
import { databases } from '../support/databases.ts';
import { agentIdOf, anAgent, NOON } from '../support/domain-fixtures.ts';
import { contentsOf, whileFailing } from './faults.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { anEntry, anOpening, aRefusal, ledgerOf, newAgentId, recordedBy, registeredAgent } from './scene.ts';

const JWKS = {
  keys: [
    // Members in an order, and of a kind, that a database's own JSON type would not keep.
    {
      y: 'eQ',
      x: 'eA',
      kty: 'EC',
      crv: 'P-256',
      kid: 'é😀\u0000',
      key_ops: ['verify'],
      ext: true,
      'x-note': '__proto__',
    },
  ],
} as const;

const registered = anEntry('agent.registered');
const updated = anEntry('agent.updated', { reason: 'changed:enabled' });
const deleted = anEntry('agent.deleted');
const exists = aRefusal('agent_already_exists', { event: 'agent.registered' });
const hasTasks = aRefusal('agent_has_tasks', { event: 'agent.deleted' });

onEveryDatabase('agents', ({ storage }) => {
  const agents = () => storage().agents;

  describe('find', () => {
    it('answers every field of an agent with inline keys as it was registered', async () => {
      const agent = anAgent({
        agentId: newAgentId(),
        displayName: 'Jira — “triage” 😀',
        enabled: false,
        revision: 1,
        keys: { kind: 'inline', jwks: JWKS },
      });
      await agents().register(agent, registered, exists);
      const found = await agents().find(agent.agentId);
      expect(found).to.deep.equal(agent);
      expect(JSON.stringify(found?.keys)).to.equal(JSON.stringify(agent.keys));
    });

    it('answers every field of an agent with remote keys as it was last replaced', async () => {
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
      };
      expect(await agents().replace(next, updated)).to.equal('replaced');
      expect(await agents().find(first.agentId)).to.deep.equal(next);
    });

    it('answers nothing for an agent that is not registered', async () => {
      expect(await agents().find(newAgentId())).to.equal(undefined);
    });
  });

  describe('list', () => {
    const ids = ['list-', 'list-z', 'list.a', 'list0', 'list_', 'lista', 'listaa', 'listb'];

    before(async () => {
      for (const id of ids.toReversed()) await registeredAgent(storage(), { agentId: agentIdOf(id) });
    });

    const listed = async (page: Parameters<ReturnType<typeof agents>['list']>[0]) =>
      (await agents().list(page)).map((agent) => agent.agentId).filter((id) => id.startsWith('list'));

    it('is in the order of code points, whatever the operating system thinks of dots and dashes', async () => {
      expect(await listed({})).to.deep.equal(ids);
    });

    it('begins after the one it is told, at most as many as it is told', async () => {
      expect(await listed({ after: agentIdOf('list-z'), limit: 3 })).to.deep.equal(['list.a', 'list0', 'list_']);
      expect(await listed({ after: agentIdOf('listaa') })).to.deep.equal(['listb']);
      expect(await listed({ after: agentIdOf('list-y'), limit: 1 })).to.deep.equal(['list-z']);
    });

    it('holds whole agents', async () => {
      const [agent] = await agents().list({ after: agentIdOf('list_'), limit: 1 });
      expect(agent).to.deep.equal(await agents().find(agentIdOf('lista')));
    });
  });

  describe('register', () => {
    it('records the registration with the agent', async () => {
      const agent = anAgent({ agentId: newAgentId(), revision: 1 });
      const records = await recordedBy(storage(), () =>
        agents().register(agent, { ...registered, agentId: agent.agentId }, exists),
      );
      expect(records.map((record) => [record.event, record.agentId, record.decision])).to.deep.equal([
        ['agent.registered', agent.agentId, 'allow'],
      ]);
    });

    it('leaves the agent that has the id as it is, and records the refusal instead', async () => {
      const first = await registeredAgent(storage());
      const records = await recordedBy(storage(), async () => {
        const second = { ...first, displayName: 'An impostor' };
        expect(await agents().register(second, registered, exists)).to.equal('already_exists');
      });
      expect(records.map((record) => [record.event, record.decision, record.reason])).to.deep.equal([
        ['agent.registered', 'deny', 'agent_already_exists'],
      ]);
      expect(await agents().find(first.agentId)).to.deep.equal(first);
    });

    it('lets one of twenty registrations of an id at once succeed, and records every one', async () => {
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

    it('takes no name that a database would store as another one', async () => {
      for (const displayName of ['nul \u0000', 'lone \ud800']) {
        const agent = anAgent({ agentId: newAgentId(), revision: 1, displayName });
        const thrown = await agents()
          .register(agent, registered, exists)
          .catch((error: unknown) => error);
        expect(thrown).to.be.instanceOf(RangeError);
        expect(await agents().find(agent.agentId)).to.equal(undefined);
      }
    });
  });

  describe('replace', () => {
    it('changes nothing and records nothing unless the stored revision is the one before', async () => {
      const agent = await registeredAgent(storage());
      for (const revision of [1, 3]) {
        const records = await recordedBy(storage(), async () => {
          const next = { ...agent, displayName: 'Too late', revision };
          expect(await agents().replace(next, updated)).to.equal('changed');
        });
        expect(records).to.deep.equal([]);
      }
      expect(await agents().find(agent.agentId)).to.deep.equal(agent);
    });

    it('says so when there is no such agent, and records nothing', async () => {
      const records = await recordedBy(storage(), async () => {
        const agent = anAgent({ agentId: newAgentId(), revision: 2 });
        expect(await agents().replace(agent, updated)).to.equal('not_found');
      });
      expect(records).to.deep.equal([]);
    });

    it('lets one of twenty replacements of a revision at once succeed', async () => {
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

    it('loses none of many changes that are each made again until they go through', async () => {
      const agent = await registeredAgent(storage(), { maxTaskTtl: 100 });
      const lengthen = async (): Promise<void> => {
        const read = await agents().find(agent.agentId);
        if (read === undefined) throw new Error('the agent is gone');
        const next = { ...read, maxTaskTtl: read.maxTaskTtl + 1, revision: read.revision + 1 };
        if ((await agents().replace(next, updated)) === 'changed') await lengthen();
      };
      await Promise.all(Array.from({ length: 10 }, lengthen));
      expect(await agents().find(agent.agentId)).to.include({ maxTaskTtl: 110, revision: 11 });
    });

    it('makes a task that was judged on the old revision impossible', async () => {
      const agent = await registeredAgent(storage());
      await agents().replace({ ...agent, enabled: false, revision: 2 }, updated);
      expect(await storage().tasks.open(anOpening(agent))).to.deep.equal({ kind: 'agent_changed' });
      expect(await storage().tasks.open(anOpening({ ...agent, revision: 2 }))).to.deep.equal({ kind: 'opened' });
    });
  });

  describe('remove', () => {
    it('removes an agent without tasks, and records it', async () => {
      const agent = await registeredAgent(storage());
      const records = await recordedBy(storage(), async () => {
        expect(await agents().remove(agent.agentId, deleted, hasTasks)).to.equal('removed');
      });
      expect(records.map((record) => record.event)).to.deep.equal(['agent.deleted']);
      expect(await agents().find(agent.agentId)).to.equal(undefined);
    });

    it('keeps an agent of which a task is stored, finished or not, and records the refusal', async () => {
      const agent = await registeredAgent(storage());
      const opening = anOpening(agent);
      await storage().tasks.open(opening);
      const { sponsorKey } = opening.task;
      for (const end of [
        async () => undefined,
        () =>
          storage().sponsors.block(
            { sponsorKey, source: 'admin', kind: 'disabled', blockedAt: NOON },
            'sponsor_blocked',
          ),
      ]) {
        await end();
        const records = await recordedBy(storage(), async () => {
          expect(await agents().remove(agent.agentId, deleted, hasTasks)).to.equal('has_tasks');
        });
        expect(records.map((record) => record.reason)).to.deep.equal(['agent_has_tasks']);
        expect(await agents().find(agent.agentId)).to.deep.equal(agent);
      }
    });

    it('says so when there is no such agent, and records nothing', async () => {
      const before = await ledgerOf(storage());
      expect(await agents().remove(newAgentId(), deleted, hasTasks)).to.equal('not_found');
      expect(await ledgerOf(storage())).to.deep.equal(before);
    });

    it('never leaves a task without its agent when both are decided at once', async () => {
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
});

onEveryDatabase(
  'agents, seen from outside,',
  ({ storage, database, kind }) => {
    it('are left as they were when what happens to them cannot be recorded', async () => {
      const connection = await database().outside?.();
      if (connection === undefined) throw new Error('this database cannot be reached from outside');
      const agent = await registeredAgent(storage());
      const other = anAgent({ agentId: newAgentId(), revision: 1 });
      for (const act of [
        () => storage().agents.register(other, registered, exists),
        () => storage().agents.register(agent, registered, exists),
        () => storage().agents.replace({ ...agent, enabled: false, revision: 2 }, updated),
        () => storage().agents.remove(agent.agentId, deleted, hasTasks),
      ]) {
        const before = await contentsOf(connection);
        const outcome = await whileFailing(kind, connection, { table: 'ledger' }, () =>
          act().catch((error: unknown) => error),
        );
        expect(outcome).to.be.instanceOf(Error);
        expect(await contentsOf(connection)).to.deep.equal(before);
      }
      await connection.close();
    });
  },
  databases,
);
