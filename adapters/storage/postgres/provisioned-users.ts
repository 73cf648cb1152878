/**
 * Provisioned users on Postgres. A write locks its people first, then, where it takes a name, all names: so who counts
 * the users, or looks whether a name is free, does so alone.
 */

import type { ProvisionedUsers } from '../../../application/ports/provisioned-users.ts';
import { userNameKey } from '../../../domain/signals/provisioned-user.ts';
import { statementsWithoutRoom } from '../../../domain/signals/provisioning-statement.ts';
import {
  type CountRow,
  countUsers,
  deleteUser,
  findByName,
  findUser,
  insertUser,
  pageOfUsers,
  replaceUser,
} from '../rows/provisioned-user-queries.ts';
import { type ProvisionedUserRow, toProvisionedUser } from '../rows/provisioned-user-row.ts';
import { bindInstant } from './column-types.ts';
import type { Connections, Run } from './connections.ts';
import { LOCK } from './locks.ts';
import { bringAbout, lockPersons } from './provisioning.ts';

const lockAllNames = { name: 'lock_user_names', text: `select pg_advisory_xact_lock(${LOCK.userNames}, 0)` };

/** @param stopping connections with time for ending very many tasks, as a write may */
export function postgresProvisionedUsers(
  { knex, run }: Connections,
  { transact }: Pick<Connections, 'transact'>,
): ProvisionedUsers {
  return {
    async find(userId) {
      const { rows } = await run<ProvisionedUserRow>(findUser(knex, userId));
      return rows[0] && toProvisionedUser(rows[0]);
    },

    async list(question) {
      const { rows } = await run<ProvisionedUserRow>(pageOfUsers(knex, question));
      const counted = await run<CountRow>(countUsers(knex, question.match));
      return { users: rows.map(toProvisionedUser), total: counted.rows[0]?.users ?? 0 };
    },

    create: (user, effects, maxUsers) =>
      transact(async (run) => {
        await lockPersons(run, user.sponsorKey);
        await run(lockAllNames);
        if ((await run(findByName(knex, user.userName, user.userId))).count > 0) return 'uniqueness';
        const { rows } = await run<CountRow>(countUsers(knex));
        if ((rows[0]?.users ?? 0) >= maxUsers) {
          const statements = statementsWithoutRoom(effects.statements);
          await bringAbout(knex, run, user.userId, { ...effects, statements });
          return 'full';
        }
        await run(insertUser(knex, user, bindInstant));
        await bringAbout(knex, run, user.userId, effects);
        return 'created';
      }),

    replace: (stored, user, effects) =>
      transact(async (run) => {
        await lockPersons(run, stored.sponsorKey, user.sponsorKey);
        const takesName = userNameKey(stored.userName) !== userNameKey(user.userName);
        if (takesName) await run(lockAllNames);
        const standing = await standingOf(run, stored);
        if (standing !== 'unchanged') return standing;
        if (takesName && (await run(findByName(knex, user.userName, user.userId))).count > 0) return 'uniqueness';
        await run(replaceUser(knex, stored, user, bindInstant));
        await bringAbout(knex, run, user.userId, effects);
        return 'replaced';
      }),

    remove: (stored, effects) =>
      transact(async (run) => {
        await lockPersons(run, stored.sponsorKey);
        const standing = await standingOf(run, stored);
        if (standing !== 'unchanged') return standing;
        await run(deleteUser(knex, stored));
        await bringAbout(knex, run, stored.userId, effects);
        return 'removed';
      }),
  };

  /** Locks the row: whoever is about to change it is waited for, and whoever comes later waits. */
  async function standingOf(run: Run, stored: Parameters<ProvisionedUsers['remove']>[0]) {
    const { rows } = await run<ProvisionedUserRow>(findUser(knex, stored.userId).forUpdate());
    if (rows[0] === undefined) return 'gone';
    return rows[0].revision === stored.revision ? 'unchanged' : 'changed';
  }
}
