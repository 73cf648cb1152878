import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { ulid } from 'ulid';
import { makeUserId, type SponsorKey } from '../../domain/identifiers.ts';
import { instantFromMicros } from '../../domain/instant.ts';
import type { ProvisionedUser } from '../../domain/signals/provisioned-user.ts';
import { statementsOf } from '../../domain/signals/provisioning-statement.ts';
import { databases } from '../support/databases.ts';
import { NOON } from '../support/domain-fixtures.ts';
import type { Storage } from '../support/storage.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { outsideConnection } from './outside-connection.ts';
import { repetitions } from './repetitions.ts';
import {
  anEntry,
  anOpening,
  asEntry,
  endRecordsOf,
  newSponsorKey,
  openedTask,
  recordedBy,
  registeredAgent,
  renewTimes,
} from './storage-fixtures.ts';

const LATER = instantFromMicros(NOON + 90_000_007);
/** The maximum number of users; no suite of this file reaches it. */
const ROOM = 1_000;
const ROUNDS = repetitions(10);

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

/** The user after a change, as the use case computes it. */
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
  /** The source and kind of each block, oldest first, or `undefined` without a block. */
  const blockOf = async (sponsorKey: SponsorKey) => {
    const blocks = await storage().sponsors.findBlocks(sponsorKey);
    return blocks.length === 0 ? undefined : blocks.map(({ source, kind }) => `${source} ${kind}`).join(', ');
  };
  return { users, create, replace, remove, created, replaced, blockOf };
}

onEveryDatabase('provisioned users', ({ storage }) => {
  const { users, create, replace, remove, created, replaced, blockOf } = provisioning(storage);

  it('are stored with each field, changed and removed', async () => {
    for (const changes of [{}, { externalId: undefined, active: false }, { userName: 'Grace é 😀 "x"' }]) {
      const user = await created(changes);
      expect(await users().find(user.userId)).to.deep.equal(user);
      const after = await replaced(user, { userName: `x-${randomUUID()}`, externalId: 'shared', active: !user.active });
      expect(await users().find(user.userId)).to.deep.equal(after);
      expect(await remove(user)).to.equal('changed');
      expect(await remove(after)).to.equal('removed');
      expect(await users().find(user.userId)).to.equal(undefined);
      expect(await replace(after, changed(after, {}))).to.equal('gone');
    }
  });

  it('are listed in pages, in the order of their ids, with their total', async () => {
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

  it('have names that are unique regardless of case, and can take the former name of another user', async () => {
    const [user, other] = [await created(), await created()];
    expect(await create(aUser({ userName: user.userName.toUpperCase() }))).to.equal('uniqueness');
    expect(await replace(other, changed(other, { userName: user.userName }))).to.equal('uniqueness');
    await replaced(user, { userName: user.userName.toUpperCase() });
    const again = await replaced(other, { userName: 'given-up' });
    await replaced(again, { userName: 'something-else' });
    await created({ userName: 'Given-Up' });
  });

  it('block a deactivated person and end the live tasks, after the record of the signal', async () => {
    const sponsorKey = newSponsorKey();
    const user = await created({ sponsorKey });
    const quiet = await openedTask(storage(), { sponsorKey });
    const busy = await openedTask(storage(), { sponsorKey });
    const child = await openedTask(storage(), { parentTaskId: busy.task.taskId });
    const expired = await openedTask(storage(), { sponsorKey, expiresAt: LATER });
    const stranger = await openedTask(storage());
    await renewTimes(storage(), busy, 4);
    const records = await recordedBy(storage(), () => replaced(user, { active: false }));
    const reason = 'scim_deactivated';
    expect(records.map(asEntry)).to.deep.equal([
      anEntry('sponsor.signal', { at: LATER, sponsor: sponsorKey, reason }),
      ...endRecordsOf(quiet, { at: LATER, event: 'task.revoked', reason }),
      ...endRecordsOf(busy, { at: LATER, event: 'task.revoked', reason }, 3),
      ...endRecordsOf(child, { at: LATER, event: 'task.revoked', reason: 'parent_revoked' }),
    ]);
    expect(await storage().sponsors.findBlocks(sponsorKey)).to.deep.equal([
      { sponsorKey, source: 'scim', kind: 'disabled', blockedAt: LATER },
    ]);
    for (const one of [expired, stranger]) {
      const grant = await storage().tasks.findGrant(one.task.agentId, one.grantHash);
      expect(grant?.taskState).to.deep.equal({ kind: 'live' });
    }
  });

  it('keep a person blocked while any other user of the person is inactive', async () => {
    const sponsorKey = newSponsorKey();
    const three = await created({ sponsorKey });
    const one = await created({ sponsorKey, active: false });
    const two = await created({ sponsorKey, active: false });
    const records = await recordedBy(storage(), () => replaced(one, { active: true }));
    const reason = 'scim_still_inactive';
    expect(records.map(asEntry)).to.deep.equal([anEntry('sponsor.signal', { at: LATER, sponsor: sponsorKey, reason })]);
    expect(await blockOf(sponsorKey)).to.equal('scim disabled');
    const people = await users().ofPerson(sponsorKey);
    expect(people.map(({ userId, active }) => [userId, active])).to.deep.equal(
      [
        [one.userId, true],
        [two.userId, false],
        [three.userId, true],
      ].sort(),
    );
    await replaced(two, { active: true });
    expect(await blockOf(sponsorKey)).to.equal(undefined);
  });

  it('block both people if a deactivation also names another person, and end the tasks of both', async () => {
    const [before, after] = [newSponsorKey(), newSponsorKey()];
    const user = await created({ sponsorKey: before });
    const of = async (sponsorKey: SponsorKey) => (await openedTask(storage(), { sponsorKey })).task.sponsor;
    const [ofAfter, ofBefore] = [await of(after), await of(before)];
    const records = await recordedBy(storage(), () => replaced(user, { sponsorKey: after, active: false }));
    expect(records.map(({ event, reason, sponsor }) => [event, reason, sponsor])).to.deep.equal([
      ['sponsor.signal', 'scim_deleted', before],
      ['task.revoked', 'scim_deleted', ofBefore],
      ['sponsor.signal', 'scim_deactivated', after],
      ['task.revoked', 'scim_deactivated', ofAfter],
    ]);
    expect([await blockOf(before), await blockOf(after)]).to.deep.equal(['scim deleted', 'scim disabled']);
  });
});

onEveryDatabase('provisioned users, written concurrently,', ({ storage }) => {
  const { users, create, created, replace, remove, blockOf } = provisioning(storage);

  it('never exceed the limit; a taken name is refused first, and an inactive user beyond the limit still blocks the person', async () => {
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
      const [made] = newcomers.filter((_, nth) => outcomes[nth] === 'created');
      expect(await create(aUser({ userName: made?.userName ?? '' }), total + 2)).to.equal('uniqueness');
      await remove(made ?? aUser());
      expect(await create(aUser(), total + 2)).to.equal('created');
    }
  });

  it('never have one name twice', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const name = `name-${randomUUID()}`;
      const others = [await created(), await created()];
      const asked = await Promise.all([
        ...[1, 2, 3].map(() => create(aUser({ userName: name }))),
        ...others.map((user) => replace(user, changed(user, { userName: name.toUpperCase() }))),
      ]);
      expect(asked.filter((outcome) => outcome === 'created' || outcome === 'replaced')).to.have.length(1);
      expect(asked.filter((outcome) => outcome === 'uniqueness')).to.have.length(4);
    }
  });
});

onEveryDatabase('concurrent changes of provisioned users', ({ storage }) => {
  const { users, replace, remove, created, blockOf } = provisioning(storage);

  it('are stored only once if two of them read the same revision', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const user = await created();
      const [elsewhere, { sponsorKey }] = [newSponsorKey(), user];
      // One change deactivates the user, the other names another person. A blind write of either would undo the other.
      const off = changed(user, { active: false });
      const renamed = changed(user, { sponsorKey: elsewhere });
      const outcomes = await Promise.all([replace(user, off), replace(user, renamed), remove(user)]);
      expect(outcomes.filter((outcome) => outcome === 'replaced' || outcome === 'removed')).to.have.length(1);
      const left = 'scim deleted';
      const [after, block] =
        outcomes[0] === 'replaced'
          ? [off, 'scim disabled']
          : outcomes[1] === 'replaced'
            ? [renamed, left]
            : [undefined, left];
      expect(await users().find(user.userId)).to.deep.equal(after);
      expect([await blockOf(sponsorKey), await blockOf(elsewhere)]).to.deep.equal([block, undefined]);
    }
  });

  it('do not deadlock if they swap the people of two users', async () => {
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

  it('block the person if they reactivate one user and deactivate another', async () => {
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
  'a SCIM write, beside other decisions or failing writes,',
  (stage) => {
    const { storage } = stage;
    const { secondWaitsForFirst, expectRollback } = outsideConnection(stage);
    const { users, replace, remove, create, created, blockOf } = provisioning(storage);
    const deactivate = (user: ProvisionedUser) => replace(user, changed(user, { active: false }));
    const reactivate = (user: ProvisionedUser) => replace(user, changed(user, { active: true }));

    for (const [what, write, verdict, reason, block] of [
      ['deactivation', deactivate, 'replaced', 'scim_deactivated', 'disabled'],
      ['removal', remove, 'removed', 'scim_deleted', 'deleted'],
    ] as const) {
      it(`as a ${what} waits for a running exchange, and ends its task`, async () => {
        const opening = anOpening(await registeredAgent(storage()));
        const { sponsorKey, agentId } = opening.task;
        const user = await created({ sponsorKey });
        const outcomes = await secondWaitsForFirst(
          () => storage().tasks.open(opening),
          () => write(user),
        );
        expect(outcomes).to.deep.equal([{ kind: 'opened' }, verdict]);
        const grant = await storage().tasks.findGrant(agentId, opening.grantHash);
        expect(grant?.taskState).to.deep.equal({ kind: 'revoked', at: LATER, reason });
      });

      it(`as a ${what} lets a later exchange wait, which is then refused`, async () => {
        const opening = anOpening(await registeredAgent(storage()));
        const user = await created({ sponsorKey: opening.task.sponsorKey });
        const outcomes = await secondWaitsForFirst(
          () => write(user),
          () => storage().tasks.open(opening),
        );
        expect(outcomes).to.deep.equal([verdict, { kind: 'sponsor_blocked', block }]);
      });
    }

    it('waits for another end of the tasks of the person, and does not record these ends again', async () => {
      const { sponsorKey, agentId } = (await openedTask(storage())).task;
      const user = await created({ sponsorKey });
      const kill = { at: LATER, reason: 'operator_kill_switch' } as const;
      const records = await recordedBy(storage(), async () => {
        const outcomes = await secondWaitsForFirst(
          () => storage().tasks.end({ kind: 'agent', agentId }, kill),
          () => deactivate(user),
        );
        expect(outcomes).to.deep.equal([{ kind: 'ended', tasks: 1 }, 'replaced']);
      });
      expect(records.map(({ event }) => event)).to.deep.equal(['task.revoked', 'sponsor.signal']);
    });

    it('as a creation of an inactive user lets a reactivation wait, which then lifts no block', async () => {
      const user = await created({ active: false });
      const { sponsorKey } = user;
      const outcomes = await secondWaitsForFirst(
        () => create(aUser({ sponsorKey, active: false })),
        () => reactivate(user),
      );
      expect(outcomes).to.deep.equal(['created', 'replaced']);
      expect(await blockOf(sponsorKey)).to.equal('scim disabled');
    });

    it('as a deactivation lets the change of another user to another person wait, which then lifts no block', async () => {
      const staying = await created();
      const { sponsorKey } = staying;
      const leaving = await created({ sponsorKey, active: false });
      const moved = changed(leaving, { sponsorKey: newSponsorKey(), active: true });
      const outcomes = await secondWaitsForFirst(
        () => deactivate(staying),
        () => replace(leaving, moved),
      );
      expect(outcomes).to.deep.equal(['replaced', 'replaced']);
      expect(await blockOf(sponsorKey)).to.equal('scim disabled');
    });

    it('as a creation lets a change to the same name wait, which is then refused', async () => {
      const user = await created();
      const { userName } = aUser();
      const outcomes = await secondWaitsForFirst(
        () => create(aUser({ userName, active: false })),
        () => replace(user, changed(user, { userName })),
      );
      expect(outcomes).to.deep.equal(['created', 'uniqueness']);
    });

    for (const fault of [
      { table: 'provisioned_users', on: 'update' },
      { table: 'sponsor_blocks' },
      { table: 'tasks', on: 'update' },
      { table: 'task_grants', on: 'update' },
      { table: 'ledger' },
    ] as const) {
      it(`changes nothing if a write to ${fault.table} fails`, async () => {
        const { sponsorKey } = (await openedTask(storage())).task;
        const user = await created({ sponsorKey });
        const write = () => replace(user, changed(user, { active: false, sponsorKey: newSponsorKey() }));
        await expectRollback(fault, write);
        expect(await write()).to.equal('replaced');
      });
    }

    it('as a creation or a removal changes nothing if the record cannot be written', async () => {
      const user = await created();
      const { sponsorKey } = (await openedTask(storage())).task;
      const newcomer = aUser({ sponsorKey, active: false });
      for (const write of [() => create(newcomer), () => create(newcomer, 0), () => remove(user)]) {
        await expectRollback({ table: 'ledger' }, write);
      }
      expect(await users().find(user.userId)).to.deep.equal(user);
      expect(await blockOf(newcomer.sponsorKey)).to.equal(undefined);
    });
  },
  databases,
);
