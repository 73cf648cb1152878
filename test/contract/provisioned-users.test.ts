import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { ulid } from 'ulid';
import { makeUserId, type SponsorKey } from '../../domain/identifiers.ts';
import { instantFromMicros } from '../../domain/instant.ts';
import type { ProvisionedUser } from '../../domain/signals/provisioned-user.ts';
import { statementsOf } from '../../domain/signals/provisioning-statement.ts';
import type { BlockSource } from '../../domain/sponsors/block.ts';
import { databases, type Outside } from '../support/databases.ts';
import { NOON } from '../support/domain-fixtures.ts';
import type { Storage } from '../support/storage.ts';
import { copyBlock } from './copied-block.ts';
import { contentsOf, whileFailing } from './faults.ts';
import { holdAppends, untilBlocked } from './hold.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { rounds } from './rounds.ts';
import {
  anEntry,
  anOpening,
  asEntry,
  newSponsorKey,
  openedTask,
  recordedBy,
  registeredAgent,
  renewTimes,
  said,
} from './scene.ts';

const LATER = instantFromMicros(NOON + 90_000_007);
/** When tasks that are not over by then expire. */
const MUCH_LATER = instantFromMicros(NOON + 900_000_007);
/** More than any suite here adds. */
const ROOM = 1_000;
const ROUNDS = rounds(10);

function aUser(changes: Partial<ProvisionedUser> = {}): ProvisionedUser {
  return {
    userId: makeUserId(ulid()),
    userName: `Ada.${randomUUID()}@Example.org`,
    externalId: `00u-${randomUUID()}`,
    active: true,
    sponsorKey: newSponsorKey(),
    revision: 1,
    createdAt: NOON,
    modifiedAt: instantFromMicros(NOON + 3),
    ...changes,
  };
}

/** The user after a change, as the application makes it. */
function changed(stored: ProvisionedUser, changes: Partial<ProvisionedUser>): ProvisionedUser {
  return { ...stored, revision: stored.revision + 1, modifiedAt: LATER, ...changes };
}

function provisioning(storage: () => Storage) {
  const users = () => storage().provisionedUsers;
  const create = (user: ProvisionedUser, maxUsers = ROOM) =>
    users().create(user, { statements: statementsOf(undefined, user), at: LATER }, maxUsers);
  const replace = (stored: ProvisionedUser, user: ProvisionedUser) =>
    users().replace(stored, user, { statements: statementsOf(stored, user), at: LATER });
  const remove = (stored: ProvisionedUser) =>
    users().remove(stored, { statements: statementsOf(stored, undefined), at: LATER });
  const created = async (changes: Partial<ProvisionedUser> = {}) => {
    const user = aUser(changes);
    expect(await create(user)).to.equal('created');
    return user;
  };
  const replaced = async (stored: ProvisionedUser, changes: Partial<ProvisionedUser>) => {
    const user = changed(stored, changes);
    expect(await replace(stored, user)).to.equal('replaced');
    return user;
  };
  /** Source and kind of each block, oldest first; `undefined` where the person is not blocked. */
  const blockOf = async (sponsorKey: SponsorKey) => {
    const blocks = await storage().sponsors.findBlocks(sponsorKey);
    return blocks.length === 0 ? undefined : blocks.map(({ source, kind }) => `${source} ${kind}`).join(', ');
  };
  const blocked = (sponsorKey: SponsorKey, source: BlockSource) =>
    storage().sponsors.block({ sponsorKey, source, kind: 'disabled', blockedAt: NOON }, 'sponsor_blocked');
  return { users, create, replace, remove, created, replaced, blockOf, blocked };
}

function aSignal(sponsorKey: SponsorKey, reason: string) {
  return said(anEntry('sponsor.signal', { at: LATER, sponsor: sponsorKey, reason }));
}

onEveryDatabase('provisioned users', ({ storage }) => {
  const { users, create, replace, remove, created, replaced, blockOf, blocked } = provisioning(storage);
  const brief = async (act: () => Promise<unknown>) =>
    (await recordedBy(storage(), act)).map(({ event, reason, sponsor }) => `${event} ${reason} ${sponsor}`);

  it('are stored with every field, and found by their id', async () => {
    for (const changes of [{}, { externalId: undefined, active: false }, { userName: 'Grace é 😀 "x"' }]) {
      const user = await created(changes);
      expect(await users().find(user.userId)).to.deep.equal(user);
      const after = await replaced(user, { userName: `x-${randomUUID()}`, externalId: 'shared', active: !user.active });
      expect(await users().find(user.userId)).to.deep.equal(after);
      expect(await remove(after)).to.equal('removed');
      expect(await users().find(user.userId)).to.equal(undefined);
    }
  });

  it('are listed in the order of their ids, in pages, with how many there are', async () => {
    await created();
    const externalId = randomUUID();
    const some = [];
    for (const nth of [1, 2, 3, 4, 5]) some.push(await created({ externalId, userName: `${nth}-${randomUUID()}` }));
    const match = { attribute: 'externalId', value: externalId } as const;
    const ids = some.map(({ userId }) => userId).sort();
    const page = async (skip: number, limit: number) => {
      const { users: found, total } = await users().list({ match, skip, limit });
      return { ids: found.map(({ userId }) => userId), total };
    };
    expect(await page(0, 200)).to.deep.equal({ ids, total: 5 });
    expect(await page(1, 2)).to.deep.equal({ ids: ids.slice(1, 3), total: 5 });
    expect(await page(5, 2)).to.deep.equal({ ids: [], total: 5 });
    expect(await page(999_999_998, 200)).to.deep.equal({ ids: [], total: 5 });
    expect(await page(0, 0)).to.deep.equal({ ids: [], total: 5 });
    const all = await users().list({ skip: 0, limit: 200 });
    expect(all.users.map(({ userId }) => userId)).to.deep.equal([...all.users.map(({ userId }) => userId)].sort());
    expect(all.total).to.be.greaterThan(5);
  });

  it('are found by name in any case, and by externalId exactly', async () => {
    const user = await created({ userName: `ÉMILE-Straße-${randomUUID()}`, externalId: `Ext-${randomUUID()}` });
    const found = async (attribute: 'userName' | 'externalId', value: string) =>
      (await users().list({ match: { attribute, value }, skip: 0, limit: 2 })).users.map(({ userId }) => userId);
    expect(await found('userName', user.userName.toLowerCase())).to.deep.equal([user.userId]);
    expect(await found('userName', user.userName.replace('ß', '\u1e9e'))).to.deep.equal([user.userId]);
    expect(await found('userName', user.userName.toUpperCase()), 'ß is SS in upper case only').to.deep.equal([]);
    expect(await found('userName', user.userName.normalize('NFD'))).to.deep.equal([]);
    expect(await found('externalId', user.externalId ?? '')).to.deep.equal([user.userId]);
    expect(await found('externalId', user.externalId?.toLowerCase() ?? '')).to.deep.equal([]);
    expect(await found('userName', "' or '1'='1")).to.deep.equal([]);
    expect(await found('userName', '%')).to.deep.equal([]);
  });

  it('have names of their own, in whatever case', async () => {
    const user = await created();
    const other = await created();
    const records = await recordedBy(storage(), async () => {
      const twin = aUser({ userName: user.userName.toUpperCase(), active: false });
      expect(await create(twin)).to.equal('uniqueness');
      expect(await blockOf(twin.sponsorKey)).to.equal(undefined);
      expect(await replace(other, changed(other, { userName: user.userName, active: false }))).to.equal('uniqueness');
      expect(await blockOf(other.sponsorKey)).to.equal(undefined);
    });
    expect(records).to.deep.equal([]);
    // Its own name in another case is free to it, and so is one that was given up.
    await replaced(user, { userName: user.userName.toUpperCase() });
    const again = await replaced(other, { userName: 'given-up' });
    await replaced(again, { userName: 'something-else' });
    await created({ userName: 'Given-Up' });
  });

  it('change and go only from the revision that was read', async () => {
    const user = await created();
    const second = await replaced(user, { active: false });
    const records = await recordedBy(storage(), async () => {
      expect(await replace(user, changed(user, { active: true }))).to.equal('changed');
      expect(await remove(user)).to.equal('changed');
      expect(await users().find(user.userId)).to.deep.equal(second);
      expect(await blockOf(user.sponsorKey)).to.equal('scim disabled');
    });
    expect(records).to.deep.equal([]);
    await remove(second);
    expect(await replace(second, changed(second, {}))).to.equal('gone');
    expect(await remove(second)).to.equal('gone');
  });

  it('end every task of a person who is deactivated, after the signal, and block them', async () => {
    const sponsorKey = newSponsorKey();
    const user = await created({ sponsorKey });
    const quiet = await openedTask(storage(), { sponsorKey });
    const busy = await openedTask(storage(), { sponsorKey });
    const child = await openedTask(storage(), { parentTaskId: busy.task.taskId });
    const expired = await openedTask(storage(), { sponsorKey, expiresAt: LATER });
    const stranger = await openedTask(storage());
    await renewTimes(storage(), busy, 4);
    const records = await recordedBy(storage(), () => replaced(user, { active: false }));
    const about = ({ task }: typeof quiet) => ({
      at: LATER,
      taskId: task.taskId,
      agentId: task.agentId,
      sponsor: task.sponsor,
      audience: task.audience,
      scope: 'jira:read jira:comment',
      delegationDepth: 1,
    });
    expect(records.map(asEntry)).to.deep.equal([
      aSignal(sponsorKey, 'scim_deactivated'),
      said(anEntry('task.revoked', { ...about(quiet), reason: 'scim_deactivated' })),
      said(anEntry('token.refreshed', { ...about(busy), count: 3 })),
      said(anEntry('task.revoked', { ...about(busy), reason: 'scim_deactivated' })),
      said(anEntry('task.revoked', { ...about(child), reason: 'parent_revoked' })),
    ]);
    expect(await storage().sponsors.findBlocks(sponsorKey)).to.deep.equal([
      { sponsorKey, source: 'scim', kind: 'disabled', blockedAt: LATER },
    ]);
    for (const one of [expired, stranger]) {
      const grant = await storage().tasks.findGrant(one.task.agentId, one.grantHash);
      expect(grant?.taskState).to.deep.equal({ kind: 'live' });
    }
  });

  it('that go leave their person blocked as deleted, tasks and all, until one is made anew as active', async () => {
    const sponsorKey = newSponsorKey();
    const user = await created({ sponsorKey });
    await openedTask(storage(), { sponsorKey });
    const lines = await brief(() => remove(user));
    expect(lines[0]).to.equal(`sponsor.signal scim_deleted ${sponsorKey}`);
    expect(lines).to.have.length(2);
    expect(lines[1]).to.match(/^task\.revoked scim_deleted /);
    expect(await blockOf(sponsorKey)).to.equal('scim deleted');
    expect(await brief(() => created({ sponsorKey }))).to.deep.equal([`sponsor.signal scim_reactivated ${sponsorKey}`]);
    expect(await blockOf(sponsorKey)).to.equal(undefined);
  });

  it('say nothing where nobody had been refused: a new and active user is no reactivation', async () => {
    expect(await brief(() => created())).to.deep.equal([]);
  });

  it('record nothing when they restate what holds', async () => {
    const active = await created();
    const inactive = await created({ active: false });
    const lines = await brief(async () => {
      for (const user of [active, inactive]) expect(await replace(user, user)).to.equal('replaced');
    });
    expect(lines).to.deep.equal([]);
    expect(await users().find(active.userId)).to.deep.equal(active);
  });

  for (const source of ['admin', 'ssf'] as const) {
    it(`place, restate and lift their own block beside one of ${source}, which they leave, each on record`, async () => {
      const user = await created();
      const { sponsorKey } = user;
      await blocked(sponsorKey, source);
      const other = `${source} disabled`;
      let off = user;
      const lines = await brief(async () => {
        off = await replaced(user, { active: false });
        expect(await blockOf(sponsorKey)).to.equal(`${other}, scim disabled`);
      });
      expect(lines).to.deep.equal([`sponsor.signal scim_deactivated ${sponsorKey}`]);
      expect(await brief(() => replace(off, off))).to.deep.equal([]);
      expect(await blockOf(sponsorKey)).to.equal(`${other}, scim disabled`);
      const removed = await brief(() => remove(off));
      expect(removed).to.deep.equal([`sponsor.signal scim_deleted ${sponsorKey}`]);
      expect(await blockOf(sponsorKey)).to.equal(`${other}, scim deleted`);
      const back = await brief(() => created({ sponsorKey }));
      expect(back).to.deep.equal([`sponsor.signal scim_reactivated ${sponsorKey}`]);
      expect(await blockOf(sponsorKey)).to.equal(other);
    });

    it(`keep their own block when the one of ${source} is lifted, and then restate it without a record`, async () => {
      const user = await created();
      const { sponsorKey } = user;
      await blocked(sponsorKey, source);
      const off = await replaced(user, { active: false });
      const unblocked = anEntry('sponsor.unblocked', { sponsor: sponsorKey });
      expect(await storage().sponsors.lift(sponsorKey, source, unblocked, unblocked)).to.equal('lifted');
      expect(await blockOf(sponsorKey)).to.equal('scim disabled');
      expect(await brief(() => replace(off, off))).to.deep.equal([]);
      expect(await blockOf(sponsorKey)).to.equal('scim disabled');
    });
  }

  it('keep a person refused while any of theirs is inactive', async () => {
    const sponsorKey = newSponsorKey();
    const one = await created({ sponsorKey });
    const two = await created({ sponsorKey });
    const oneOff = await replaced(one, { active: false });
    const twoOff = await replaced(two, { active: false });
    expect(await brief(() => replaced(oneOff, { active: true }))).to.deep.equal([]);
    expect(await blockOf(sponsorKey)).to.equal('scim disabled');
    expect(await brief(() => created({ sponsorKey }))).to.deep.equal([]);
    expect(await blockOf(sponsorKey)).to.equal('scim disabled');
    expect(await brief(() => replaced(twoOff, { active: true }))).to.deep.equal([
      `sponsor.signal scim_reactivated ${sponsorKey}`,
    ]);
    expect(await blockOf(sponsorKey)).to.equal(undefined);
  });

  it('block both people when a deactivation changes who is meant, and end the tasks of both', async () => {
    const [before, after] = [newSponsorKey(), newSponsorKey()];
    const user = await created({ sponsorKey: before });
    const tasks = [
      await openedTask(storage(), { sponsorKey: after }),
      await openedTask(storage(), { sponsorKey: before }),
    ];
    const lines = await brief(() => replaced(user, { sponsorKey: after, active: false }));
    expect(lines).to.deep.equal([
      `sponsor.signal scim_deleted ${before}`,
      `task.revoked scim_deleted ${tasks[1]?.task.sponsor}`,
      `sponsor.signal scim_deactivated ${after}`,
      `task.revoked scim_deactivated ${tasks[0]?.task.sponsor}`,
    ]);
    expect(await blockOf(before)).to.equal('scim deleted');
    expect(await blockOf(after)).to.equal('scim disabled');
  });

  it('block the person of a name that an inactive user leaves: as deleted, or as disabled where another user has it', async () => {
    const before = newSponsorKey();
    const user = await created({ sponsorKey: before, active: false });
    const after = newSponsorKey();
    expect(await brief(() => replaced(user, { sponsorKey: after }))).to.deep.equal([
      `sponsor.signal scim_deleted ${before}`,
      `sponsor.signal scim_deactivated ${after}`,
    ]);
    expect(await blockOf(before)).to.equal('scim deleted');

    const shared = newSponsorKey();
    const leaving = await created({ sponsorKey: shared });
    await created({ sponsorKey: shared });
    const lines = await brief(() => replaced(leaving, { sponsorKey: newSponsorKey(), active: false }));
    expect(lines[0]).to.equal(`sponsor.signal scim_deactivated ${shared}`);
    expect(await blockOf(shared)).to.equal('scim disabled');
  });

  it('leave nobody behind under a name that an active user gave up', async () => {
    const [before, after] = [newSponsorKey(), newSponsorKey()];
    const user = await created({ sponsorKey: before });
    const task = await openedTask(storage(), { sponsorKey: before });
    const lines = await brief(() => replaced(user, { sponsorKey: after }));
    expect(lines).to.deep.equal([
      `sponsor.signal scim_deleted ${before}`,
      `task.revoked scim_deleted ${task.task.sponsor}`,
    ]);
    expect([await blockOf(before), await blockOf(after)]).to.deep.equal(['scim deleted', undefined]);
    // Somebody else is given the name, or the same user gets it back.
    await created({ sponsorKey: before });
    expect(await blockOf(before)).to.equal(undefined);
  });

  it('that give a name up leave its other users to speak for it', async () => {
    const shared = newSponsorKey();
    const leaving = await created({ sponsorKey: shared, active: false });
    await created({ sponsorKey: shared });
    expect(await blockOf(shared)).to.equal('scim disabled');
    const lines = await brief(() => replaced(leaving, { sponsorKey: newSponsorKey(), active: true }));
    expect(lines).to.deep.equal([`sponsor.signal scim_reactivated ${shared}`]);
    expect(await blockOf(shared)).to.equal(undefined);

    const other = newSponsorKey();
    const active = await created({ sponsorKey: other });
    await created({ sponsorKey: other, active: false });
    expect(await brief(() => replaced(active, { sponsorKey: newSponsorKey() }))).to.deep.equal([]);
    expect(await blockOf(other)).to.equal('scim disabled');
  });

  it('that go block their person although another user of theirs is active, until that one says so again', async () => {
    const sponsorKey = newSponsorKey();
    const [one, two] = [await created({ sponsorKey }), await created({ sponsorKey })];
    await remove(one);
    expect(await blockOf(sponsorKey)).to.equal('scim deleted');
    await replace(two, two);
    expect(await blockOf(sponsorKey)).to.equal(undefined);
  });

  it('leave nobody free whom a user has as inactive, nor anybody refused whom the last write had as active', async () => {
    const write = fc.record({
      user: fc.integer({ min: 0, max: 3 }),
      person: fc.integer({ min: 0, max: 2 }),
      to: fc.constantFrom('active', 'inactive', 'gone'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(write, { maxLength: 10 }), async (writes) => {
        const people = [newSponsorKey(), newSponsorKey(), newSponsorKey()];
        const standing = new Map<number, ProvisionedUser>();
        for (const { user, person, to } of writes) {
          const before = standing.get(user);
          const sponsorKey = people[person] ?? newSponsorKey();
          if (to === 'gone') {
            if (before === undefined) continue;
            await remove(before);
            standing.delete(user);
            expect(await blockOf(before.sponsorKey)).to.equal('scim deleted');
          } else {
            const fields = { sponsorKey, active: to === 'active' };
            standing.set(user, before === undefined ? await created(fields) : await replaced(before, fields));
          }
          const users = [...standing.values()];
          for (const key of people) {
            const theirs = users.filter((one) => one.sponsorKey === key);
            const block = await blockOf(key);
            if (theirs.some(({ active }) => !active)) expect(block).to.match(/^scim /);
            else if (to === 'active' && key === sponsorKey) expect(block).to.equal(undefined);
          }
          const left = before?.sponsorKey;
          if (left !== undefined && users.every((one) => one.sponsorKey !== left)) {
            expect(await blockOf(left), 'nobody has that name any more').to.match(/^scim /);
          }
        }
      }),
      { numRuns: 15 },
    );
  });

  it('change the kind of a block of their own, and keep its time', async () => {
    const user = await created({ active: false });
    const { sponsorKey } = user;
    await users().remove(user, { statements: statementsOf(user, undefined), at: instantFromMicros(LATER + 5) });
    expect((await storage().sponsors.findBlocks(sponsorKey))[0]).to.include({ kind: 'deleted', blockedAt: LATER });
    await created({ sponsorKey, active: false });
    expect((await storage().sponsors.findBlocks(sponsorKey))[0]).to.include({ kind: 'disabled', blockedAt: LATER });
  });
});

onEveryDatabase('provisioned users, as many as there may be,', ({ storage }) => {
  const { users, create, remove, blockOf } = provisioning(storage);

  it('end the tasks of an inactive one for which there is no room, block its person, and do nothing for an active one', async () => {
    const { task } = await openedTask(storage());
    const { sponsorKey } = task;
    const full = (changes: Partial<ProvisionedUser>) =>
      recordedBy(storage(), async () => expect(await create(aUser(changes), 0)).to.equal('full'));
    expect(await full({ sponsorKey })).to.deep.equal([]);
    const records = await full({ sponsorKey, active: false });
    expect(records.map(({ event, reason, taskId }) => [event, reason, taskId])).to.deep.equal([
      ['sponsor.signal', 'scim_deactivated', undefined],
      ['task.revoked', 'scim_deactivated', task.taskId],
    ]);
    expect(await full({ sponsorKey, active: false }), 'what holds already').to.deep.equal([]);
    expect(await full({ sponsorKey })).to.deep.equal([]);
    expect(await blockOf(sponsorKey)).to.equal('scim disabled');
    const other = await openedTask(storage());
    expect(await storage().tasks.findGrant(other.task.agentId, other.grantHash)).to.deep.include({
      taskState: { kind: 'live' },
    });
  });

  it('are no more than that, however many are made at once; a name that is taken is said first', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const { total } = await users().list({ skip: 0, limit: 0 });
      const newcomers = Array.from({ length: 6 }, () => aUser({ active: false }));
      const outcomes = await Promise.all(newcomers.map((user) => create(user, total + 2)));
      expect(outcomes.filter((outcome) => outcome === 'created')).to.have.length(2);
      expect(outcomes.filter((outcome) => outcome === 'full')).to.have.length(4);
      const refused = newcomers.filter((_, nth) => outcomes[nth] === 'full');
      for (const { userId, sponsorKey } of refused) {
        expect(await users().find(userId)).to.equal(undefined);
        expect(await blockOf(sponsorKey), 'blocked without a user').to.equal('scim disabled');
      }
      const made = newcomers.find((_, nth) => outcomes[nth] === 'created');
      if (made === undefined) throw new Error('none was made');
      expect(await create(aUser({ userName: made.userName }), total + 2)).to.equal('uniqueness');
      await remove(made);
      expect(await create(aUser(), total + 2)).to.equal('created');
    }
  });

  it('never get one name, however many ask for it at once', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const name = `name-${randomUUID()}`;
      const others = await Promise.all(
        [1, 2].map(async () => {
          const user = aUser();
          await create(user);
          return user;
        }),
      );
      const asked = await Promise.all([
        ...[1, 2, 3].map(() => create(aUser({ userName: name }))),
        ...others.map((user) => {
          const named = changed(user, { userName: name.toUpperCase() });
          return users().replace(user, named, { statements: statementsOf(user, named), at: LATER });
        }),
      ]);
      expect(asked.filter((outcome) => outcome === 'created' || outcome === 'replaced')).to.have.length(1);
      expect(asked.filter((outcome) => outcome === 'uniqueness')).to.have.length(4);
    }
  });
});

onEveryDatabase('writes of one user that meet', ({ storage }) => {
  const { users, replace, remove, created, blockOf } = provisioning(storage);

  it('are applied one after the other: of those that read the same state only one is', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const user = await created();
      const [elsewhere, { sponsorKey }] = [newSponsorKey(), user];
      // One deactivates whom it read; the other renames them. Applied blindly, one would undo the other.
      const off = changed(user, { active: false });
      const renamed = changed(user, { sponsorKey: elsewhere });
      const outcomes = await Promise.all([replace(user, off), replace(user, renamed), remove(user)]);
      expect(outcomes.filter((outcome) => outcome === 'replaced' || outcome === 'removed')).to.have.length(1);
      const after = await users().find(user.userId);
      if (outcomes[0] === 'replaced') {
        expect(after).to.deep.equal(off);
        expect([await blockOf(sponsorKey), await blockOf(elsewhere)]).to.deep.equal(['scim disabled', undefined]);
      } else if (outcomes[1] === 'replaced') {
        expect(after).to.deep.equal(renamed);
        expect([await blockOf(sponsorKey), await blockOf(elsewhere)]).to.deep.equal(['scim deleted', undefined]);
      } else {
        expect(after).to.equal(undefined);
        expect([await blockOf(sponsorKey), await blockOf(elsewhere)]).to.deep.equal(['scim deleted', undefined]);
      }
    }
  });

  it('do not wait for each other when two people change places', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const [one, two] = [await created(), await created()];
      const outcomes = await Promise.all([
        replace(one, changed(one, { sponsorKey: two.sponsorKey, active: false })),
        replace(two, changed(two, { sponsorKey: one.sponsorKey, active: false })),
      ]);
      expect(outcomes).to.deep.equal(['replaced', 'replaced']);
      expect([await blockOf(one.sponsorKey), await blockOf(two.sponsorKey)]).to.deep.equal([
        'scim disabled',
        'scim disabled',
      ]);
    }
  });

  it('agree on one person: two users of theirs, one turned on and one off at once, leave them refused', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const sponsorKey = newSponsorKey();
      const one = await created({ sponsorKey, active: false });
      const two = await created({ sponsorKey });
      await Promise.all([replace(one, changed(one, { active: true })), replace(two, changed(two, { active: false }))]);
      expect(await blockOf(sponsorKey)).to.equal('scim disabled');
    }
  });
});

onEveryDatabase(
  'a deactivation, seen from outside,',
  ({ storage, database, kind }) => {
    const { users, replace, remove, create, created, blockOf } = provisioning(storage);
    const reach = async () => {
      const connection = await database().outside?.();
      if (connection === undefined) throw new Error('this database cannot be reached from outside');
      return connection;
    };

    /** As one that was opened while the person was free for a moment. */
    const taskInSpiteOfBlock = async (connection: Outside, sponsorKey: SponsorKey, expiresAt = MUCH_LATER) => {
      const mine = `where sponsor_key = '${sponsorKey}'`;
      await connection.sql(`create table kept as select * from sponsor_blocks ${mine}`);
      await connection.sql(`delete from sponsor_blocks ${mine}`);
      const opening = await openedTask(storage(), { sponsorKey, expiresAt });
      await connection.sql('insert into sponsor_blocks select * from kept');
      await connection.sql('drop table kept');
      return opening;
    };

    it('waits for an exchange under way, and ends its task', async () => {
      const connection = await reach();
      const opening = anOpening(await registeredAgent(storage()));
      const { sponsorKey, agentId } = opening.task;
      const user = await created({ sponsorKey });
      const hold = await holdAppends(kind, connection);
      const opened = storage().tasks.open(opening);
      await hold.waiting(1);
      const written = replace(user, changed(user, { active: false }));
      await hold.waiting(2);
      await hold.release();
      expect(await opened).to.deep.equal({ kind: 'opened' });
      expect(await written).to.equal('replaced');
      const grant = await storage().tasks.findGrant(agentId, opening.grantHash);
      expect(grant?.taskState).to.deep.equal({ kind: 'revoked', at: LATER, reason: 'scim_deactivated' });
      await connection.close();
    });

    it('beside the block of another source ends the tasks that run, in the same transaction', async () => {
      const connection = await reach();
      for (const [write, reason, kind] of [
        [(user: ProvisionedUser) => replace(user, changed(user, { active: false })), 'scim_deactivated', 'disabled'],
        [remove, 'scim_deleted', 'deleted'],
      ] as const) {
        const user = await created();
        const { sponsorKey } = user;
        const { task } = await openedTask(storage(), { sponsorKey });
        await copyBlock(storage(), connection, { sponsorKey, source: 'ssf', kind: 'deleted', blockedAt: NOON });
        const records = await recordedBy(storage(), () => write(user));
        expect(records.map((record) => [record.event, record.reason, record.taskId])).to.deep.equal([
          ['sponsor.signal', reason, undefined],
          ['task.revoked', reason, task.taskId],
        ]);
        expect(await blockOf(sponsorKey)).to.equal(`ssf deleted, scim ${kind}`);
      }
      await connection.close();
    });

    it('is waited for by an exchange that comes later, which it refuses', async () => {
      const connection = await reach();
      const opening = anOpening(await registeredAgent(storage()));
      const { sponsorKey } = opening.task;
      const user = await created({ sponsorKey });
      const hold = await holdAppends(kind, connection);
      const written = replace(user, changed(user, { active: false }));
      await hold.waiting(1);
      const opened = storage().tasks.open(opening);
      await hold.waiting(2);
      await hold.release();
      expect(await written).to.equal('replaced');
      expect(await opened).to.deep.equal({ kind: 'sponsor_blocked', block: 'disabled' });
      await connection.close();
    });

    it('that is restated records nothing of a task whose time is up, and leaves it to the sweeper', async () => {
      const connection = await reach();
      const user = await created({ active: false });
      const over = await taskInSpiteOfBlock(connection, user.sponsorKey, LATER);
      const records = await recordedBy(storage(), () => replace(user, user));
      expect(records).to.deep.equal([]);
      const grant = await storage().tasks.findGrant(over.task.agentId, over.grantHash);
      expect(grant?.taskState.kind).to.equal('live');
      await connection.close();
    });

    it('that is restated waits for another decision that ends the person’s tasks, and then records nothing', async () => {
      const connection = await reach();
      const user = await created({ active: false });
      const { task } = await taskInSpiteOfBlock(connection, user.sponsorKey);
      const hold = await holdAppends(kind, connection);
      const kill = { at: LATER, reason: 'operator_kill_switch' } as const;
      const killing = storage().tasks.end({ kind: 'agent', agentId: task.agentId }, kill);
      await hold.waiting(1);
      const written = replace(user, user);
      await hold.blocked(2);
      const records = await recordedBy(storage(), async () => {
        await hold.release();
        expect(await killing).to.deep.equal({ kind: 'ended', tasks: 1 });
        expect(await written).to.equal('replaced');
      });
      expect(records.map(({ event }) => event)).to.deep.equal(['task.revoked']);
      await connection.close();
    });

    if (kind.engine === 'postgres') {
      it('by a create is waited for by a reactivation, which lifts nothing then', async () => {
        const connection = await reach();
        const user = await created({ active: false });
        const { sponsorKey } = user;
        const { task } = await taskInSpiteOfBlock(connection, sponsorKey);
        await connection.sql('begin');
        await connection.sql(`select 1 from tasks where task_id = '${task.taskId}' for update`);
        const creating = create(aUser({ sponsorKey, active: false }));
        await untilBlocked(connection, 1);
        const reactivating = replace(user, changed(user, { active: true }));
        await Promise.race([reactivating, untilBlocked(connection, 2)]);
        await connection.sql('commit');
        expect([await creating, await reactivating]).to.deep.equal(['created', 'replaced']);
        expect(await blockOf(sponsorKey)).to.equal('scim disabled');
        await connection.close();
      });

      it('is waited for by another user’s change to another person, which lifts nothing then', async () => {
        const connection = await reach();
        const leaving = await created({ active: false });
        const { sponsorKey } = leaving;
        const staying = await created({ sponsorKey });
        const { task } = await taskInSpiteOfBlock(connection, sponsorKey);
        await connection.sql('begin');
        await connection.sql(`select 1 from tasks where task_id = '${task.taskId}' for update`);
        const deactivating = replace(staying, changed(staying, { active: false }));
        await untilBlocked(connection, 1);
        const moving = replace(leaving, changed(leaving, { sponsorKey: newSponsorKey(), active: true }));
        await Promise.race([moving, untilBlocked(connection, 2)]);
        await connection.sql('commit');
        expect([await deactivating, await moving]).to.deep.equal(['replaced', 'replaced']);
        expect(await blockOf(sponsorKey)).to.equal('scim disabled');
        await connection.close();
      });
    }

    it('under way is waited for by a user who takes its name, and is then refused it', async () => {
      const connection = await reach();
      const user = await created();
      const { userName } = aUser();
      const hold = await holdAppends(kind, connection);
      const creating = create(aUser({ userName, active: false }));
      await hold.waiting(1);
      const renaming = replace(user, changed(user, { userName })).catch((error: unknown) => error);
      await hold.blocked(2);
      await hold.release();
      expect([await creating, await renaming]).to.deep.equal(['created', 'uniqueness']);
      await connection.close();
    });

    it('by a removal waits for an exchange under way, and refuses one that comes later', async () => {
      const connection = await reach();
      const opening = anOpening(await registeredAgent(storage()));
      const { sponsorKey, agentId } = opening.task;
      const user = await created({ sponsorKey });
      const later = anOpening(await registeredAgent(storage()), { sponsorKey });
      const hold = await holdAppends(kind, connection);
      const opened = storage().tasks.open(opening);
      await hold.waiting(1);
      const removed = remove(user);
      await hold.waiting(2);
      const refused = storage().tasks.open(later);
      await hold.waiting(3);
      await hold.release();
      expect([await opened, await removed, await refused]).to.deep.equal([
        { kind: 'opened' },
        'removed',
        { kind: 'sponsor_blocked', block: 'deleted' },
      ]);
      const grant = await storage().tasks.findGrant(agentId, opening.grantHash);
      expect(grant?.taskState).to.deep.equal({ kind: 'revoked', at: LATER, reason: 'scim_deleted' });
      await connection.close();
    });

    const faults = [
      { table: 'provisioned_users', on: 'update' },
      { table: 'sponsor_blocks' },
      { table: 'tasks', on: 'update' },
      { table: 'task_grants', on: 'update' },
      { table: 'ledger' },
    ] as const;
    for (const fault of faults) {
      it(`leaves nothing behind when writing to ${fault.table} fails`, async () => {
        const connection = await reach();
        const sponsorKey = newSponsorKey();
        const user = await created({ sponsorKey });
        await openedTask(storage(), { sponsorKey });
        const write = () => replace(user, changed(user, { active: false, sponsorKey: newSponsorKey() }));
        const before = await contentsOf(connection);
        const outcome = await whileFailing(kind, connection, fault, () => write().catch((error: unknown) => error));
        expect(outcome).to.be.instanceOf(Error);
        expect(await contentsOf(connection)).to.deep.equal(before);
        expect(await write()).to.equal('replaced');
        await connection.close();
      });
    }

    it('by a create or a removal leaves nothing behind either', async () => {
      const connection = await reach();
      const user = await created();
      const { sponsorKey } = (await openedTask(storage())).task;
      const newcomer = aUser({ sponsorKey, active: false });
      for (const write of [() => create(newcomer), () => create(newcomer, 0), () => remove(user)]) {
        const before = await contentsOf(connection);
        const failing = () => write().catch((error: unknown) => error);
        const outcome = await whileFailing(kind, connection, { table: 'ledger' }, failing);
        expect(outcome).to.be.instanceOf(Error);
        expect(await contentsOf(connection)).to.deep.equal(before);
      }
      expect(await users().find(user.userId)).to.deep.equal(user);
      expect(await blockOf(newcomer.sponsorKey)).to.equal(undefined);
      await connection.close();
    });
  },
  databases,
);
