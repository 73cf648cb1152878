/** Provisioned users on SQLite. Decisions are made one after another, so what one reads holds until it has written. */

import type { ProvisionedUsers } from '../../../application/ports/provisioned-users.ts';
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
import type { Connections } from './connections.ts';
import { bringAbout } from './provisioning.ts';

export function sqliteProvisionedUsers({ knex, read, decide }: Connections): ProvisionedUsers {
  return {
    find: (userId) =>
      read((run) => {
        const { rows } = run<ProvisionedUserRow>(findUser(knex, userId));
        return rows[0] && toProvisionedUser(rows[0]);
      }),

    list: (question) =>
      read((run) => ({
        users: run<ProvisionedUserRow>(pageOfUsers(knex, question)).rows.map(toProvisionedUser),
        total: run<CountRow>(countUsers(knex, question.match)).rows[0]?.users ?? 0,
      })),

    create: (user, effects, maxUsers) =>
      decide((run) => {
        if (run(findByName(knex, user.userName, user.userId)).count > 0) return 'uniqueness';
        const { rows } = run<CountRow>(countUsers(knex));
        if ((rows[0]?.users ?? 0) >= maxUsers) {
          const statements = statementsWithoutRoom(effects.statements);
          bringAbout(knex, run, user.userId, { ...effects, statements });
          return 'full';
        }
        run(insertUser(knex, user, bindInstant));
        bringAbout(knex, run, user.userId, effects);
        return 'created';
      }),

    replace: (stored, user, effects) =>
      decide((run) => {
        const { rows } = run<ProvisionedUserRow>(findUser(knex, stored.userId));
        if (rows[0] === undefined) return 'gone';
        if (rows[0].revision !== stored.revision) return 'changed';
        if (run(findByName(knex, user.userName, user.userId)).count > 0) return 'uniqueness';
        run(replaceUser(knex, stored, user, bindInstant));
        bringAbout(knex, run, user.userId, effects);
        return 'replaced';
      }),

    remove: (stored, effects) =>
      decide((run) => {
        if (run(deleteUser(knex, stored)).count === 0) {
          return run(findUser(knex, stored.userId)).count === 0 ? 'gone' : 'changed';
        }
        bringAbout(knex, run, stored.userId, effects);
        return 'removed';
      }),
  };
}
