import { expect } from 'chai';
import { ulid } from 'ulid';
import { makeTokenId } from '../../domain/identifiers.ts';
import { databases, everyDatabase, type FreshDatabase, type OutsideConnection } from '../support/databases.ts';
import { NOON } from '../support/domain-fixtures.ts';
import type { Storage } from '../support/storage.ts';
import { sealed } from './minimal-sealer.ts';
import { anEntry, aRenewal, ledgerOf, openedTask, registeredAgent } from './storage-fixtures.ts';

for (const kind of everyDatabase) {
  describe(`migrating on ${kind.name}`, () => {
    let database: FreshDatabase;
    let storage: Storage;
    beforeEach(async function () {
      this.timeout(60_000);
      database = await kind.fresh('absent');
      storage = await database.open();
    });
    afterEach(async () => {
      await storage.close();
      await database.drop();
    });

    it('applies the schema to an empty database, and changes nothing the second time', async () => {
      expect(await storage.schemaStatus()).to.equal('absent');
      expect(await storage.readiness.check()).to.deep.include({ status: 'Unhealthy' });
      const applied = await storage.migrate();
      expect(applied).to.deep.equal(['0001-schema']);
      expect(await storage.schemaStatus()).to.equal('current');
      expect(await storage.readiness.check()).to.deep.include({ status: 'Healthy' });
      expect(await storage.migrate()).to.deep.equal([]);
    });
  });
}

for (const kind of databases) {
  describe(`migrating while other connections are open on ${kind.name}`, () => {
    let database: FreshDatabase;
    let storage: Storage;
    let outside: OutsideConnection;
    beforeEach(async function () {
      this.timeout(60_000);
      database = await kind.fresh('absent');
      storage = await database.open();
      if (database.outside === undefined) throw new Error('this database cannot be reached from outside');
      outside = await database.outside('owner');
    });
    afterEach(async () => {
      await outside.close();
      await storage.close();
      await database.drop();
    });

    it('applies the schema once when three processes migrate at once', async () => {
      const others = [await database.open(), await database.open()];
      const applied = await Promise.all([storage, ...others].map((process) => process.migrate()));
      expect(applied.filter((names) => names.length > 0)).to.have.length(1);
      for (const process of [storage, ...others]) expect(await process.schemaStatus()).to.equal('current');
      for (const process of others) await process.close();
    });

    it('rolls a failed migration back, and can run again', async () => {
      await outside.sql('create table task_grants (in_the_way integer)');
      expect(await storage.migrate().catch((error: unknown) => error)).to.be.instanceOf(Error);
      expect(await storage.schemaStatus()).to.equal('absent');
      await outside.sql('drop table task_grants');
      expect(await storage.migrate()).to.deep.equal(['0001-schema']);
      expect(await storage.schemaStatus()).to.equal('current');
    });

    it('keeps the stored rows', async () => {
      await storage.migrate();
      await storage.createPartitions(NOON, 0);
      const agent = await registeredAgent(storage);
      const before = await ledgerOf(storage);
      await storage.migrate();
      expect(await ledgerOf(storage)).to.deep.equal(before);
      expect(await storage.agents.find(agent.agentId)).to.deep.equal(agent);
    });

    it('leaves the schema of a newer release unchanged, and this release still serves', async () => {
      await storage.migrate();
      await outside.sql("insert into schema_migrations (name, batch) values ('9999-from-the-future', 2)");
      expect(await storage.schemaStatus()).to.equal('ahead');
      expect(await storage.readiness.check()).to.deep.equal({
        status: 'Degraded',
        detail: 'The database was migrated by a newer release.',
      });
      const thrown = await storage.migrate().catch((error: unknown) => error);
      expect(String(thrown)).to.include('newer release');
      expect(await storage.agents.list({})).to.deep.equal([]);
    });

    it('lets replicas of this release serve after a newer one added a column to every table', async () => {
      await storage.migrate();
      await storage.createPartitions(NOON, 0);
      await storage.outbox.setQueueing(true);
      const use = async () => {
        const opening = await openedTask(storage);
        const { agentId, sponsorKey, taskId } = opening.task;
        expect(await storage.agents.find(agentId)).to.deep.include({ agentId });
        expect(await storage.agents.list({})).to.have.length.greaterThan(0);
        expect(await storage.tasks.renew(aRenewal(opening))).to.deep.equal({ kind: 'renewed' });
        expect(await storage.tasks.findGrant(agentId, opening.grantHash)).to.deep.include({ task: opening.task });
        expect(await storage.tasks.tokenFacts(makeTokenId(ulid()), taskId)).to.deep.include({ agentEnabled: true });
        const block = { sponsorKey, source: 'admin', kind: 'disabled', blockedAt: NOON } as const;
        const outcome = await storage.sponsors.block(block, 'sponsor_blocked');
        expect(outcome).to.deep.equal({ blocks: [block], revokedTasks: 1 });
        expect(await storage.sponsors.findBlocks(sponsorKey)).to.deep.equal([block]);
        expect(await ledgerOf(storage)).to.have.length.greaterThan(3);
        const { lastSeq } = await sealed(storage.checkpoints);
        expect(await storage.checkpoints.sealing(lastSeq)).to.have.property('kind', 'sealed');
        expect(await storage.checkpoints.page(0, 100)).to.have.length.greaterThan(0);
        expect(await storage.checkpoints.archivings()).to.deep.equal([]);
        const drained = await storage.outbox.drain({ now: NOON, limit: 100 }, async () => true);
        expect(drained.kind).to.equal('delivered');
      };
      // Repeats until every connection has prepared its statements and Postgres has cached their plans.
      for (let round = 0; round < 7; round++) await use();
      for (const table of [
        'agents',
        'tasks',
        'task_grants',
        'sponsor_blocks',
        'spent_assertions',
        'revoked_tokens',
        'ledger',
        'ledger_archives',
        'checkpoints',
        'outbox',
        'outbox_queueing',
      ]) {
        await outside.sql(`alter table ${table} add column later text`);
      }
      for (let round = 0; round < 7; round++) await use();
    });

    it('is not done by a process that only serves', async () => {
      const process = await database.open();
      expect(await process.agents.list({}).catch((error: unknown) => error)).to.be.instanceOf(Error);
      expect(await process.ledger.append(anEntry('admin.denied')).catch((error: unknown) => error)).to.be.instanceOf(
        Error,
      );
      expect(await process.schemaStatus()).to.equal('absent');
      await process.close();
    });
  });
}
