import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { SponsorKey } from '../../domain/identifiers.ts';
import type { ProvisionedUser } from '../../domain/signals/provisioned-user.ts';
import { statementsOf } from '../../domain/signals/provisioning-statement.ts';
import type { Storage } from '../support/storage.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { repetitions } from './repetitions.ts';
import { aUser, newSponsorKey, openedTask, recordedBy } from './storage-fixtures.ts';
import { changedUser, LATER, ROOM } from './world.ts';

const ROUNDS = repetitions(10);

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
    const user = changedUser(stored, changes);
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
  const { users, create, replace, created, replaced } = provisioning(storage);

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
    expect(await replace(other, changedUser(other, { userName: user.userName }))).to.equal('uniqueness');
    await replaced(user, { userName: user.userName.toUpperCase() });
    const again = await replaced(other, { userName: 'given-up' });
    await replaced(again, { userName: 'something-else' });
    await created({ userName: 'Given-Up' });
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

  it('record what ends for each person after what the provider says of that person', async () => {
    const tasks = [await openedTask(storage()), await openedTask(storage())];
    const stored = await created();
    const statements = tasks.map(
      ({ task: { sponsorKey } }) => ({ sponsorKey, state: 'disabled', isNew: true }) as const,
    );
    const records = await recordedBy(storage(), () =>
      users().replace(stored, changedUser(stored, {}), { statements, at: LATER }),
    );
    expect(records.map(({ event, taskId }) => [event, taskId])).to.deep.equal(
      tasks.flatMap(({ task: { taskId } }) => [
        ['sponsor.signal', undefined],
        ['task.revoked', taskId],
      ]),
    );
  });

  it('do not deadlock if they swap the people of two users', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const [one, two] = [await created(), await created()];
      const outcomes = await Promise.all([
        replace(one, changedUser(one, { sponsorKey: two.sponsorKey, active: false })),
        replace(two, changedUser(two, { sponsorKey: one.sponsorKey, active: false })),
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
      await Promise.all([
        replace(one, changedUser(one, { active: true })),
        replace(two, changedUser(two, { active: false })),
      ]);
      expect(await blockOf(sponsorKey)).to.equal('scim disabled');
    }
  });
});
