import { expect } from 'chai';
import { liftBlock } from '../../application/decisions/lift-block.ts';
import { placeBlock } from '../../application/decisions/place-block.ts';
import type { SponsorKey } from '../../domain/identifiers.ts';
import { instantFromMicros } from '../../domain/instant.ts';
import type { SponsorBlock } from '../../domain/sponsors/block.ts';
import type { RevocationReason } from '../../domain/tasks/task.ts';
import { databases } from '../support/databases.ts';
import { NOON } from '../support/domain-fixtures.ts';
import type { Storage } from '../support/storage.ts';
import { insertBlockOnly } from './insert-block-only.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { outsideConnection } from './outside-connection.ts';
import {
  anEntry,
  asEntry,
  definedFields,
  endRecordsOf,
  newSponsorKey,
  openedTask,
  recordedBy,
  registeredAgent,
  renewTimes,
} from './storage-fixtures.ts';

const LATER = instantFromMicros(NOON + 90_000_007);
const after = (micros: number) => instantFromMicros(NOON + micros);

function aBlock(sponsorKey: SponsorKey, changes: Partial<SponsorBlock> = {}): SponsorBlock {
  return { sponsorKey, source: 'ssf', kind: 'deleted', blockedAt: LATER, ...changes };
}

const unblocked = (sponsorKey: SponsorKey) =>
  anEntry('sponsor.unblocked', { at: LATER, sponsor: sponsorKey, reason: 'operator_unblocked' });
const notOwned = (sponsorKey: SponsorKey) =>
  ({ ...unblocked(sponsorKey), decision: 'deny', reason: 'sponsor_block_not_owned' }) as const;

function acts(storage: () => Storage) {
  const block = (one: SponsorBlock, reason: RevocationReason = 'sponsor_blocked') =>
    storage().decide(placeBlock, { block: one, reason });
  const lift = (sponsorKey: SponsorKey, source: SponsorBlock['source']) =>
    storage().decide(liftBlock, { sponsorKey, source, entry: unblocked(sponsorKey), refusal: notOwned(sponsorKey) });
  return { block, lift, findBlocks: (sponsorKey: SponsorKey) => storage().sponsors.findBlocks(sponsorKey) };
}

onEveryDatabase('blocks', ({ storage }) => {
  const { block, lift, findBlocks } = acts(storage);

  it('are stored with each field, also for a person without a task', async () => {
    for (const changes of [{}, { source: 'admin', kind: 'disabled' }, { source: 'scim' }] as const) {
      const stored = aBlock(newSponsorKey(), changes);
      expect(await findBlocks(stored.sponsorKey)).to.deep.equal([]);
      expect(await block(stored)).to.deep.equal({ blocks: [stored], revokedTasks: 0 });
      expect(await findBlocks(stored.sponsorKey)).to.deep.equal([stored]);
    }
  });

  it('are of different people if their sponsor keys differ in case, accent or Unicode form', async () => {
    const key = newSponsorKey();
    await block(aBlock(key));
    for (const other of [key.toUpperCase(), key.replace('é', 'e\u0301'), `${key}0`, key.slice(0, -2)]) {
      expect(await findBlocks(other as SponsorKey)).to.deep.equal([]);
    }
  });

  it('are stored once per source, and are read oldest first, in whatever order they were placed', async () => {
    const sponsorKey = newSponsorKey();
    const admin = aBlock(sponsorKey, { source: 'admin', kind: 'disabled' });
    const [ssf, scim] = [aBlock(sponsorKey, { blockedAt: after(1) }), aBlock(sponsorKey, { source: 'scim' })];
    const records = await recordedBy(storage(), async () => {
      for (const one of [scim, admin, ssf]) await block(one);
      // Blocks of the same time come in the order of their sources.
      const again = aBlock(sponsorKey, { source: 'admin', blockedAt: NOON });
      expect((await block(again)).blocks).to.deep.equal([ssf, admin, scim]);
    });
    expect(records).to.have.length(3);
    expect(await findBlocks(sponsorKey)).to.deep.equal([ssf, admin, scim]);
  });

  it('are lifted one by one, each with a record; without a block the person can start a task again', async () => {
    const { task, grantHash } = await openedTask(storage());
    const { sponsorKey } = task;
    const [ssf, admin] = [aBlock(sponsorKey), aBlock(sponsorKey, { source: 'admin', blockedAt: after(1) })];
    for (const one of [ssf, admin]) await block(one);
    const records = await recordedBy(storage(), async () => {
      expect(await lift(sponsorKey, 'admin')).to.equal('lifted');
      expect(await findBlocks(sponsorKey)).to.deep.equal([ssf]);
      expect(await lift(sponsorKey, 'admin')).to.equal('not_owned');
      expect(await lift(sponsorKey, 'ssf')).to.equal('lifted');
      expect(await lift(sponsorKey, 'ssf')).to.equal('not_blocked');
    });
    const expected = [unblocked(sponsorKey), notOwned(sponsorKey), unblocked(sponsorKey)];
    expect(records.map(asEntry)).to.deep.equal(expected.map(definedFields));
    expect(await findBlocks(sponsorKey)).to.deep.equal([]);
    await openedTask(storage(), { sponsorKey });
    const grant = await storage().tasks.findGrant(task.agentId, grantHash);
    expect(grant?.taskState).to.deep.equal({ kind: 'revoked', at: LATER, reason: 'sponsor_blocked' });
  });

  it('are placed once if twenty callers place the same block concurrently', async () => {
    const sponsorKey = newSponsorKey();
    await openedTask(storage(), { sponsorKey });
    const records = await recordedBy(storage(), async () => {
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, (_, nth) =>
          block(aBlock(sponsorKey, { blockedAt: instantFromMicros(LATER + nth) }), 'ssf_account_purged'),
        ),
      );
      expect(new Set(outcomes.map(({ blocks }) => blocks.map(({ blockedAt }) => blockedAt).join())).size).to.equal(1);
      expect(outcomes.reduce((sum, { revokedTasks }) => sum + revokedTasks, 0)).to.equal(1);
    });
    expect(records.map((record) => record.event)).to.deep.equal(['sponsor.blocked', 'task.revoked']);
  });

  it('are lifted once if twenty callers lift the same block concurrently', async () => {
    const sponsorKey = newSponsorKey();
    await block(aBlock(sponsorKey, { source: 'admin' }));
    const records = await recordedBy(storage(), async () => {
      const outcomes = await Promise.all(Array.from({ length: 20 }, () => lift(sponsorKey, 'admin')));
      expect(outcomes.toSorted()).to.deep.equal(['lifted', ...Array.from({ length: 19 }, () => 'not_blocked')]);
    });
    expect(records).to.have.length(1);
  });

  it('end two thousand tasks in one decision, each with its record', async function () {
    this.timeout(60_000);
    const sponsorKey = newSponsorKey();
    const agent = await registeredAgent(storage());
    for (let opened = 0; opened < 2_000; opened += 50) {
      await Promise.all(Array.from({ length: 50 }, () => openedTask(storage(), { sponsorKey }, agent)));
    }
    expect((await block(aBlock(sponsorKey))).revokedTasks).to.equal(2_000);
    const { records } = await storage().ledger.page({ agentId: agent.agentId, limit: 5_000, now: NOON });
    const ended = records.filter((record) => record.event === 'task.revoked');
    expect(new Set(ended.map((record) => record.taskId)).size).to.equal(2_000);
  });
});

onEveryDatabase(
  'blocks, beside other decisions or failing writes,',
  (stage) => {
    const { storage } = stage;
    const { outside, secondWaitsForFirst, expectRollback } = outsideConnection(stage);
    const { block, lift, findBlocks } = acts(storage);

    it('end the tasks of a person who is already blocked by another source, after the record of the block', async () => {
      const quiet = await openedTask(storage());
      const { sponsorKey } = quiet.task;
      const busy = await openedTask(storage(), { sponsorKey });
      await renewTimes(storage(), busy, 7);
      const other = aBlock(sponsorKey, { source: 'scim', blockedAt: NOON });
      await insertBlockOnly(storage(), outside(), other);
      const own = aBlock(sponsorKey, { source: 'admin', kind: 'disabled' });
      const reason = 'ssf_account_purged';
      const records = await recordedBy(storage(), async () => {
        expect(await block(own, reason)).to.deep.equal({ blocks: [other, own], revokedTasks: 2 });
      });
      expect(records.map(asEntry)).to.deep.equal([
        anEntry('sponsor.blocked', { at: LATER, sponsor: sponsorKey, reason: 'sponsor_blocked' }),
        ...endRecordsOf(quiet, { at: LATER, event: 'task.revoked', reason }),
        ...endRecordsOf(busy, { at: LATER, event: 'task.revoked', reason }, 6),
      ]);
      for (const { task, grantHash } of [quiet, busy]) {
        const grant = await storage().tasks.findGrant(task.agentId, grantHash);
        expect(grant).to.deep.include({ taskState: { kind: 'revoked', at: LATER, reason }, revokedAt: LATER });
      }
      expect(await findBlocks(sponsorKey)).to.deep.equal([other, own]);
    });

    for (const fault of [
      { table: 'sponsor_blocks' },
      { table: 'tasks', on: 'update' },
      { table: 'task_grants', on: 'update' },
      { table: 'ledger' },
    ] as const) {
      it(`are not placed if a write to ${fault.table} fails`, async () => {
        const { sponsorKey } = (await openedTask(storage())).task;
        await expectRollback(fault, () => block(aBlock(sponsorKey)));
        expect((await block(aBlock(sponsorKey))).revokedTasks).to.equal(1);
      });
    }

    for (const fault of [{ table: 'sponsor_blocks', on: 'delete' }, { table: 'ledger' }] as const) {
      it(`are not lifted if a write to ${fault.table} fails`, async () => {
        const sponsorKey = newSponsorKey();
        await block(aBlock(sponsorKey, { source: 'admin' }));
        await expectRollback(fault, () => lift(sponsorKey, 'admin'));
        expect(await lift(sponsorKey, 'admin')).to.equal('lifted');
      });
    }

    it('let a concurrent lift wait, which then lifts the block', async () => {
      const placed = aBlock(newSponsorKey());
      const { sponsorKey, source } = placed;
      const [{ blocks }, lifted] = await secondWaitsForFirst(
        () => block(placed),
        () => lift(sponsorKey, source),
      );
      expect([blocks, lifted]).to.deep.equal([[placed], 'lifted']);
      expect(await findBlocks(sponsorKey)).to.deep.equal([]);
    });
  },
  databases,
);
