import { expect } from 'chai';
import type { SponsorKey } from '../../domain/identifiers.ts';
import { instantFromMicros } from '../../domain/instant.ts';
import { blockDenial, type SponsorBlock } from '../../domain/sponsors/block.ts';
import { databases } from '../support/databases.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { copyBlock } from './copied-block.ts';
import { contentsOf, whileFailing } from './faults.ts';
import { holdAppends } from './hold.ts';
import { onEveryDatabase } from './on-every-database.ts';
import {
  anEntry,
  anOpening,
  aRefusal,
  aRenewal,
  asEntry,
  newSponsorKey,
  openedTask,
  recordedBy,
  registeredAgent,
  renewTimes,
  said,
} from './scene.ts';

const LATER = instantFromMicros(NOON + 90_000_007);
const SOURCES = ['admin', 'scim', 'ssf'] as const;

function aBlock(sponsorKey: SponsorKey, changes: Partial<SponsorBlock> = {}): SponsorBlock {
  return { sponsorKey, source: 'ssf', kind: 'deleted', blockedAt: LATER, ...changes };
}

onEveryDatabase('blocking a person', ({ storage }) => {
  const sponsors = () => storage().sponsors;

  it('stores every field of the block, whoever has or has not a task', async () => {
    for (const changes of [{}, { source: 'admin', kind: 'disabled' }, { source: 'scim' }] as const) {
      const block = aBlock(newSponsorKey(), changes);
      expect(await sponsors().findBlocks(block.sponsorKey)).to.deep.equal([]);
      const outcome = await sponsors().block(block, 'sponsor_blocked');
      expect(outcome).to.deep.equal({ blocks: [block], revokedTasks: 0 });
      expect(await sponsors().findBlocks(block.sponsorKey)).to.deep.equal([block]);
    }
  });

  it('ends no task whose time is up, swept or not: an expiry is never recorded as a revocation', async () => {
    const sponsorKey = newSponsorKey();
    const { task, grantHash } = await openedTask(storage(), { sponsorKey, expiresAt: LATER });
    const records = await recordedBy(storage(), async () => {
      expect((await sponsors().block(aBlock(sponsorKey), 'sponsor_blocked')).revokedTasks).to.equal(0);
    });
    expect(records.map((record) => record.event)).to.deep.equal(['sponsor.blocked']);
    const grant = await storage().tasks.findGrant(task.agentId, grantHash);
    expect(grant).to.deep.include({ taskState: { kind: 'live' }, revokedAt: undefined });
  });

  it('tells people apart whose keys differ in case, accent or form', async () => {
    const key = newSponsorKey();
    await sponsors().block(aBlock(key), 'sponsor_blocked');
    for (const other of [key.toUpperCase(), key.replace('é', 'e\u0301'), `${key}0`, key.slice(0, -2)]) {
      expect(await sponsors().findBlocks(other as SponsorKey)).to.deep.equal([]);
    }
  });

  it('records the block under the sponsor key, then each task that it ends, with the renewals summed up', async () => {
    const sponsorKey = newSponsorKey();
    const quiet = await openedTask(storage(), { sponsorKey });
    const busy = await openedTask(storage(), { sponsorKey });
    const stranger = await openedTask(storage());
    await renewTimes(storage(), busy, 7);
    const records = await recordedBy(storage(), async () => {
      const outcome = await sponsors().block(aBlock(sponsorKey), 'ssf_account_purged');
      expect(outcome.revokedTasks).to.equal(2);
    });
    const about = ({ task }: typeof quiet) => ({
      at: LATER,
      taskId: task.taskId,
      agentId: task.agentId,
      sponsor: task.sponsor,
      audience: task.audience,
      scope: 'jira:read jira:comment',
      delegationDepth: 1,
    });
    expect(records.map(asEntry)).to.deep.equal(
      [
        anEntry('sponsor.blocked', { at: LATER, sponsor: sponsorKey, reason: 'sponsor_blocked' }),
        anEntry('task.revoked', { ...about(quiet), reason: 'ssf_account_purged' }),
        anEntry('token.refreshed', { ...about(busy), count: 6 }),
        anEntry('task.revoked', { ...about(busy), reason: 'ssf_account_purged' }),
      ].map(said),
    );
    for (const { task, grantHash } of [quiet, busy]) {
      const grant = await storage().tasks.findGrant(task.agentId, grantHash);
      expect(grant).to.deep.include({
        taskState: { kind: 'revoked', at: LATER, reason: 'ssf_account_purged' },
        revokedAt: LATER,
      });
    }
    const other = await storage().tasks.findGrant(stranger.task.agentId, stranger.grantHash);
    expect(other?.taskState).to.deep.equal({ kind: 'live' });
  });

  it('ends what others do on the person’s tasks as delegated, and the person’s own tasks as theirs', async () => {
    const sponsorKey = newSponsorKey();
    const root = await openedTask(storage(), { sponsorKey });
    const own = await openedTask(storage(), { sponsorKey, parentTaskId: root.task.taskId });
    const foreign = await openedTask(storage(), { parentTaskId: own.task.taskId });
    const outcome = await sponsors().block(aBlock(sponsorKey), 'scim_deleted');
    expect(outcome.revokedTasks).to.equal(3);
    const reasons = await Promise.all(
      [root, own, foreign].map(async ({ task, grantHash }) => {
        const grant = await storage().tasks.findGrant(task.agentId, grantHash);
        return grant?.taskState.kind === 'revoked' ? grant.taskState.reason : grant?.taskState.kind;
      }),
    );
    expect(reasons).to.deep.equal(['scim_deleted', 'scim_deleted', 'parent_revoked']);
  });

  it('leaves the block of its source as it is when it is repeated, and records nothing', async () => {
    for (const source of SOURCES) {
      const first = aBlock(newSponsorKey(), { source, kind: 'disabled', blockedAt: NOON });
      await sponsors().block(first, 'sponsor_blocked');
      const records = await recordedBy(storage(), async () => {
        const again = aBlock(first.sponsorKey, { source, kind: 'deleted' });
        expect(await sponsors().block(again, 'sponsor_blocked')).to.deep.equal({ blocks: [first], revokedTasks: 0 });
      });
      expect(records).to.deep.equal([]);
      expect(await sponsors().findBlocks(first.sponsorKey)).to.deep.equal([first]);
    }
  });

  for (const [first, second, third] of [
    ['admin', 'scim', 'ssf'],
    ['admin', 'ssf', 'scim'],
    ['scim', 'admin', 'ssf'],
    ['scim', 'ssf', 'admin'],
    ['ssf', 'admin', 'scim'],
    ['ssf', 'scim', 'admin'],
  ] as const) {
    it(`places blocks of ${first}, ${second} and ${third} beside each other, oldest first, each on record`, async () => {
      const sponsorKey = newSponsorKey();
      const blocks: SponsorBlock[] = [];
      for (const source of [first, second, third]) {
        const blockedAt = instantFromMicros(NOON + blocks.length);
        blocks.push(aBlock(sponsorKey, { source, kind: source === 'ssf' ? 'deleted' : 'disabled', blockedAt }));
      }
      for (const [nth, block] of blocks.entries()) {
        const records = await recordedBy(storage(), async () => {
          const outcome = await sponsors().block(block, 'sponsor_blocked');
          expect(outcome).to.deep.equal({ blocks: blocks.slice(0, nth + 1), revokedTasks: 0 });
        });
        expect(records.map(({ event, sponsor, reason }) => [event, sponsor, reason])).to.deep.equal([
          ['sponsor.blocked', sponsorKey, 'sponsor_blocked'],
        ]);
        expect(await sponsors().findBlocks(sponsorKey)).to.deep.equal(blocks.slice(0, nth + 1));
      }
    });
  }

  it('orders blocks by when they were placed, whichever was stored first', async () => {
    const sponsorKey = newSponsorKey();
    const late = aBlock(sponsorKey, { source: 'admin', kind: 'disabled', blockedAt: LATER });
    const early = aBlock(sponsorKey, { source: 'ssf', kind: 'deleted', blockedAt: NOON });
    await sponsors().block(late, 'sponsor_blocked');
    expect((await sponsors().block(early, 'sponsor_blocked')).blocks).to.deep.equal([early, late]);
    expect(await sponsors().findBlocks(sponsorKey)).to.deep.equal([early, late]);
  });

  it('refuses an exchange, a refresh and a refusal with the block placed first, until no block is left', async () => {
    const kinds = { ssf: 'deleted', admin: 'disabled', scim: 'deleted' } as const;
    const opening = await openedTask(storage());
    const { sponsorKey } = opening.task;
    const agent = await registeredAgent(storage());
    const expectRefused = async (kind: SponsorBlock['kind'] | undefined) => {
      const blocked = { kind: 'sponsor_blocked', block: kind } as const;
      const opened = await storage().tasks.open(anOpening(agent, { sponsorKey }));
      expect(opened).to.deep.equal(kind === undefined ? { kind: 'opened' } : blocked);
      const renewed = await storage().tasks.renew(aRenewal(opening));
      // A block ended the task for good.
      expect(renewed).to.deep.equal(kind === undefined ? { kind: 'grant_changed' } : blocked);
      const reason = await storage().ledger.refuse({ entry: aRefusal('scope_widened'), sponsorKey });
      expect(reason).to.equal(kind === undefined ? 'scope_widened' : blockDenial(kind));
    };
    for (const [nth, source] of (['ssf', 'admin', 'scim'] as const).entries()) {
      const blockedAt = instantFromMicros(NOON + nth);
      await sponsors().block(aBlock(sponsorKey, { source, kind: kinds[source], blockedAt }), 'sponsor_blocked');
      await expectRefused(kinds.ssf);
    }
    for (const [source, left] of [
      ['ssf', kinds.admin],
      ['admin', kinds.scim],
      ['scim', undefined],
    ] as const) {
      const outcome = await sponsors().lift(sponsorKey, source, unblocked(sponsorKey), notOwned(sponsorKey));
      expect(outcome).to.equal('lifted');
      await expectRefused(left);
    }
  });

  it('is placed once when twenty ask at once', async () => {
    const sponsorKey = newSponsorKey();
    await openedTask(storage(), { sponsorKey });
    const records = await recordedBy(storage(), async () => {
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, (_, nth) =>
          sponsors().block(aBlock(sponsorKey, { blockedAt: instantFromMicros(LATER + nth) }), 'ssf_account_purged'),
        ),
      );
      expect(new Set(outcomes.map(({ blocks }) => blocks.map(({ blockedAt }) => blockedAt).join())).size).to.equal(1);
      expect(outcomes.reduce((sum, { revokedTasks }) => sum + revokedTasks, 0)).to.equal(1);
    });
    expect(records.map((record) => record.event)).to.deep.equal(['sponsor.blocked', 'task.revoked']);
  });

  it('ends two thousand tasks at once, each with its record', async function () {
    this.timeout(60_000);
    const sponsorKey = newSponsorKey();
    const agent = await registeredAgent(storage());
    for (let opened = 0; opened < 2_000; opened += 50) {
      await Promise.all(Array.from({ length: 50 }, () => openedTask(storage(), { sponsorKey }, agent)));
    }
    const outcome = await sponsors().block(aBlock(sponsorKey), 'sponsor_blocked');
    expect(outcome.revokedTasks).to.equal(2_000);
    const { records } = await storage().ledger.page({ agentId: agent.agentId, limit: 5_000, now: NOON });
    const ended = records.filter((record) => record.event === 'task.revoked');
    expect(new Set(ended.map((record) => record.taskId)).size).to.equal(2_000);
  });
});

const unblocked = (sponsorKey: SponsorKey) =>
  anEntry('sponsor.unblocked', { at: LATER, sponsor: sponsorKey, reason: 'operator_unblocked' });
const notOwned = (sponsorKey: SponsorKey) =>
  ({ ...unblocked(sponsorKey), decision: 'deny', reason: 'sponsor_block_not_owned' }) as const;

onEveryDatabase('lifting a block', ({ storage }) => {
  const lift = (sponsorKey: SponsorKey, source: SponsorBlock['source']) =>
    storage().sponsors.lift(sponsorKey, source, unblocked(sponsorKey), notOwned(sponsorKey));

  for (const placedBy of SOURCES) {
    it(`of ${placedBy} is for ${placedBy} alone: each other is refused, which is recorded`, async () => {
      const block = aBlock(newSponsorKey(), { source: placedBy });
      await storage().sponsors.block(block, 'sponsor_blocked');
      const { sponsorKey } = block;
      const records = await recordedBy(storage(), async () => {
        for (const other of SOURCES.filter((source) => source !== placedBy)) {
          expect(await lift(sponsorKey, other)).to.equal('not_owned');
          expect(await storage().sponsors.findBlocks(sponsorKey)).to.deep.equal([block]);
        }
        expect(await lift(sponsorKey, placedBy)).to.equal('lifted');
      });
      expect(records.map(asEntry)).to.deep.equal(
        [notOwned(sponsorKey), notOwned(sponsorKey), unblocked(sponsorKey)].map(said),
      );
      expect(await storage().sponsors.findBlocks(sponsorKey)).to.deep.equal([]);
    });
  }

  for (const own of SOURCES) {
    it(`of ${own} leaves the blocks of the other sources, and says that it lifted its own`, async () => {
      const sponsorKey = newSponsorKey();
      const blocks = SOURCES.map((source, nth) =>
        aBlock(sponsorKey, { source, blockedAt: instantFromMicros(NOON + nth) }),
      );
      for (const block of blocks) await storage().sponsors.block(block, 'sponsor_blocked');
      const others = blocks.filter(({ source }) => source !== own);
      const records = await recordedBy(storage(), async () => {
        expect(await lift(sponsorKey, own)).to.equal('lifted');
        expect(await storage().sponsors.findBlocks(sponsorKey)).to.deep.equal(others);
        expect(await lift(sponsorKey, own)).to.equal('not_owned');
        expect(await storage().sponsors.findBlocks(sponsorKey)).to.deep.equal(others);
      });
      expect(records.map(asEntry)).to.deep.equal([unblocked(sponsorKey), notOwned(sponsorKey)].map(said));
    });
  }

  it('finds nothing to lift where nobody is blocked, or not any more, and records nothing', async () => {
    const block = aBlock(newSponsorKey(), { source: 'admin' });
    await storage().sponsors.block(block, 'sponsor_blocked');
    await lift(block.sponsorKey, 'admin');
    const records = await recordedBy(storage(), async () => {
      expect(await lift(block.sponsorKey, 'admin')).to.equal('not_blocked');
      expect(await lift(newSponsorKey(), 'scim')).to.equal('not_blocked');
    });
    expect(records).to.deep.equal([]);
  });

  it('brings no task back, and lets the person start another', async () => {
    const sponsorKey = newSponsorKey();
    const { task, grantHash } = await openedTask(storage(), { sponsorKey });
    await storage().sponsors.block(aBlock(sponsorKey, { source: 'admin' }), 'sponsor_blocked');
    await lift(sponsorKey, 'admin');
    const grant = await storage().tasks.findGrant(task.agentId, grantHash);
    expect(grant?.taskState).to.deep.equal({ kind: 'revoked', at: LATER, reason: 'sponsor_blocked' });
    await openedTask(storage(), { sponsorKey });
  });

  it('lifts one block once when twenty ask at once', async () => {
    const block = aBlock(newSponsorKey(), { source: 'admin' });
    await storage().sponsors.block(block, 'sponsor_blocked');
    const records = await recordedBy(storage(), async () => {
      const outcomes = await Promise.all(Array.from({ length: 20 }, () => lift(block.sponsorKey, 'admin')));
      expect(outcomes.toSorted()).to.deep.equal(['lifted', ...Array.from({ length: 19 }, () => 'not_blocked')]);
    });
    expect(records).to.have.length(1);
  });
});

onEveryDatabase(
  'lifting a block, seen from outside,',
  ({ storage, database, kind }) => {
    for (const fault of [{ table: 'sponsor_blocks', on: 'delete' }, { table: 'ledger' }] as const) {
      it(`leaves the block standing when writing to ${fault.table} fails`, async () => {
        const connection = await database().outside?.();
        if (connection === undefined) throw new Error('this database cannot be reached from outside');
        const { sponsorKey, ...block } = aBlock(newSponsorKey(), { source: 'admin' });
        await storage().sponsors.block({ sponsorKey, ...block }, 'sponsor_blocked');
        const lift = () => storage().sponsors.lift(sponsorKey, 'admin', unblocked(sponsorKey), notOwned(sponsorKey));
        const before = await contentsOf(connection);
        const outcome = await whileFailing(kind, connection, fault, () => lift().catch((error: unknown) => error));
        expect(outcome).to.be.instanceOf(Error);
        expect(await contentsOf(connection)).to.deep.equal(before);
        expect(await lift()).to.equal('lifted');
        await connection.close();
      });
    }
  },
  databases,
);

onEveryDatabase(
  'blocking a person, seen from outside,',
  ({ storage, database, kind }) => {
    for (const fault of [
      { table: 'sponsor_blocks' },
      { table: 'tasks', on: 'update' },
      { table: 'task_grants', on: 'update' },
      { table: 'ledger' },
    ] as const) {
      it(`leaves nothing behind when writing to ${fault.table} fails`, async () => {
        const connection = await database().outside?.();
        if (connection === undefined) throw new Error('this database cannot be reached from outside');
        const sponsorKey = newSponsorKey();
        await openedTask(storage(), { sponsorKey });
        const block = () => storage().sponsors.block(aBlock(sponsorKey), 'sponsor_blocked');
        const before = await contentsOf(connection);
        const outcome = await whileFailing(kind, connection, fault, () => block().catch((error: unknown) => error));
        expect(outcome).to.be.instanceOf(Error);
        expect(await contentsOf(connection)).to.deep.equal(before);
        expect((await block()).revokedTasks).to.equal(1);
        await connection.close();
      });
    }

    for (const [source, placed] of [
      ['scim', ['sponsor.blocked sponsor_blocked']],
      ['ssf', ['sponsor.blocked sponsor_blocked']],
      ['admin', []],
    ] as const) {
      it(`ends the tasks that run beside a block of ${source}, in the same transaction`, async () => {
        const connection = await database().outside?.();
        if (connection === undefined) throw new Error('this database cannot be reached from outside');
        const { task } = await openedTask(storage());
        const { sponsorKey } = task;
        const other = aBlock(sponsorKey, { source, blockedAt: NOON });
        await copyBlock(storage(), connection, other);
        const own = aBlock(sponsorKey, { source: 'admin', kind: 'disabled' });
        const records = await recordedBy(storage(), async () => {
          const blocks = source === 'admin' ? [other] : [other, own];
          const outcome = await storage().sponsors.block(own, 'sponsor_blocked');
          expect(outcome).to.deep.equal({ blocks, revokedTasks: 1 });
        });
        expect(records.map(({ event, reason }) => `${event} ${reason}`)).to.deep.equal([
          ...placed,
          'task.revoked sponsor_blocked',
        ]);
        expect(records.at(-1)?.taskId).to.equal(task.taskId);
        await connection.close();
      });
    }

    it('is waited for by a lift, which lifts it', async () => {
      const connection = await database().outside?.();
      if (connection === undefined) throw new Error('this database cannot be reached from outside');
      const block = aBlock(newSponsorKey());
      const { sponsorKey, source } = block;
      const hold = await holdAppends(kind, connection);
      const blocking = storage().sponsors.block(block, 'sponsor_blocked');
      await hold.waiting(1);
      const lifting = storage().sponsors.lift(sponsorKey, source, unblocked(sponsorKey), notOwned(sponsorKey));
      await Promise.race([lifting, hold.waiting(2)]);
      await hold.release();
      expect((await blocking).blocks).to.deep.equal([block]);
      expect(await lifting).to.equal('lifted');
      expect(await storage().sponsors.findBlocks(sponsorKey)).to.deep.equal([]);
      await connection.close();
    });
  },
  databases,
);
