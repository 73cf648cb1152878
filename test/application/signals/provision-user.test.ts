import { expect } from 'chai';
import { ulid } from 'ulid';
import type { ProvisionedUsers } from '../../../application/ports/users.ts';
import {
  createUser,
  type Provisioning,
  patchUser,
  removeUser,
  replaceUser,
  type WriteOutcome,
} from '../../../application/signals/provision-user.ts';
import type { ProvisionedUser } from '../../../domain/signals/provisioned-user.ts';
import { agreeing, movedClock } from '../../support/moved-clock.ts';
import { openTestDatabase, type TestDatabase } from '../../support/test-database.ts';

const DEACTIVATION = { Operations: [{ op: 'replace', path: 'active', value: false }] };

function written(outcome: WriteOutcome): ProvisionedUser {
  if (outcome.kind !== 'written') throw new Error(`the write came to ${outcome.kind}`);
  return outcome.user;
}

describe('A SCIM write of a user', () => {
  const clock = movedClock();
  let storage: TestDatabase;
  before(async () => {
    storage = await openTestDatabase();
  });
  after(() => storage.close());

  function serviceOn(users: Pick<ProvisionedUsers, 'find'>): Provisioning {
    return {
      decisions: storage,
      users,
      sharedTime: agreeing(clock),
      randomness: { ulid },
      person: 'externalId',
      maxUsers: 1000,
    };
  }
  const plain = () => serviceOn(storage.provisionedUsers);

  /** After each of the first `times` reads, another client changes the user before the service writes. */
  function interrupted(times: number, act: (user: ProvisionedUser) => Promise<unknown>) {
    const users = storage.provisionedUsers;
    let reads = 0;
    const service = serviceOn({
      ...users,
      async find(userId) {
        const found = await users.find(userId);
        reads += 1;
        if (found !== undefined && reads <= times) await act(found);
        return found;
      },
    });
    return { service, reads: () => reads };
  }

  async function aUser() {
    const id = ulid();
    return written(await createUser(plain(), { userName: id, externalId: id }));
  }
  const renameBy = async (service: Provisioning, { userId }: ProvisionedUser) =>
    written(await patchUser(service, userId, { Operations: [{ op: 'add', path: 'userName', value: ulid() }] }));
  const rename = (user: ProvisionedUser) => renameBy(plain(), user);

  it('is repeated with the user that a concurrent client wrote, twice if needed', async () => {
    for (const times of [1, 2]) {
      const { userId } = await aUser();
      const { service, reads } = interrupted(times, rename);
      const user = written(await patchUser(service, userId, DEACTIVATION));
      expect(reads()).to.equal(times + 1);
      expect(user).to.include({ active: false, revision: times + 2 });
      expect(await storage.provisionedUsers.find(userId)).to.deep.equal(user);
    }
  });

  it('gives up after three conflicts with other clients, and neither writes nor blocks', async () => {
    for (const write of [
      (service: Provisioning, { userId }: ProvisionedUser) => patchUser(service, userId, DEACTIVATION),
      (service: Provisioning, { userId, externalId }: ProvisionedUser) =>
        replaceUser(service, userId, { userName: ulid(), externalId, active: false }),
      async (service: Provisioning, { userId }: ProvisionedUser) => ({ kind: await removeUser(service, userId) }),
    ]) {
      const user = await aUser();
      const { service, reads } = interrupted(Number.POSITIVE_INFINITY, rename);
      expect(await write(service, user)).to.deep.equal({ kind: 'kept_changing' });
      expect(reads()).to.equal(3);
      expect(await storage.provisionedUsers.find(user.userId)).to.include({ active: true, revision: 4 });
      expect(await storage.sponsors.findBlocks(user.sponsorKey)).to.deep.equal([]);
    }
  });

  it('answers not_found if the user was removed after the read', async () => {
    const drop = ({ userId }: ProvisionedUser) => removeUser(plain(), userId);
    for (const write of [
      (service: Provisioning, { userId }: ProvisionedUser) => patchUser(service, userId, DEACTIVATION),
      async (service: Provisioning, { userId }: ProvisionedUser) => ({ kind: await removeUser(service, userId) }),
    ]) {
      const { service } = interrupted(1, drop);
      expect(await write(service, await aUser())).to.deep.equal({ kind: 'not_found' });
    }
  });

  it('can deactivate, but not reactivate, a user who lacks the attribute that now names the person', async () => {
    const named = ulid();
    const { userId } = written(await createUser({ ...plain(), person: 'userName' }, { userName: named }));
    const on = { Operations: [{ op: 'replace', path: 'active', value: true }] };
    expect(await patchUser(plain(), userId, on)).to.include({ kind: 'invalid', code: 'invalidValue' });
    const user = written(await patchUser(plain(), userId, DEACTIVATION));
    expect(user).to.include({ active: false, sponsorKey: named });
    expect((await storage.sponsors.findBlocks(user.sponsorKey))[0]).to.include({ source: 'scim', kind: 'disabled' });
    const replacement = await replaceUser(plain(), userId, { userName: named, active: false });
    expect(replacement, 'no value is held').to.include({ kind: 'invalid', code: 'invalidValue' });
  });

  it('can deactivate a user whose stored name is no valid sponsor key, but accepts no new name of this kind', async () => {
    const [userName, externalId] = [`Ada ${ulid()}`, ulid()];
    const { userId } = written(await createUser(plain(), { userName, externalId }));
    const byName: Provisioning = { ...plain(), person: 'userName' };
    const off = { op: 'replace', path: 'active', value: false };
    const renamed = { op: 'replace', path: 'userName', value: `Ada ${ulid()}` };
    const refused = await patchUser(byName, userId, { Operations: [off, renamed] });
    expect(refused).to.include({ kind: 'invalid', code: 'invalidValue' });
    const user = written(await patchUser(byName, userId, { Operations: [off] }));
    expect(user).to.include({ userName, active: false, sponsorKey: externalId });
    expect((await storage.sponsors.findBlocks(user.sponsorKey))[0]).to.include({ source: 'scim', kind: 'disabled' });
  });

  it('does not restore the active that it read if another client deactivates the user meanwhile', async () => {
    const stored = await aUser();
    // The first client reads the user, the second deactivates the user, then the first writes.
    const { service } = interrupted(1, ({ userId }) => patchUser(plain(), userId, DEACTIVATION));
    expect((await renameBy(service, stored)).active).to.equal(false);
    expect((await storage.sponsors.findBlocks(stored.sponsorKey))[0]).to.include({ source: 'scim', kind: 'disabled' });
  });
});
