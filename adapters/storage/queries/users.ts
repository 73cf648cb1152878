/** Queries of the provisioned users. */

import type { ProvisionedUsers, UsersPage, UsersQuestion } from '../../../application/ports/users.ts';
import type { SponsorKey, UserId } from '../../../domain/identifiers.ts';
import { type ProvisionedUser, userNameKey } from '../../../domain/signals/provisioned-user.ts';
import { storable } from '../rows/column.ts';
import {
  type ProvisionedUserRow,
  provisionedUserColumnNames,
  toProvisionedUser,
} from '../rows/provisioned-user-row.ts';
import type { Ask, Query } from './query.ts';

const COLUMNS = provisionedUserColumnNames.join(', ');

export const findUser: Query<UserId, ProvisionedUser | undefined> = {
  name: 'find_user',
  text: `select ${COLUMNS} from provisioned_users where user_id = :user_id`,
  values: (userId) => ({ user_id: userId }),
  read: ([row]: readonly ProvisionedUserRow[]) => row && toProvisionedUser(row),
};

/** Compared without regard to case if it is a `userName`. */
const MATCHES = { userName: 'where user_name_key = :value', externalId: 'where external_id = :value' } as const;

/** One statement, so that the count is that of the page. */
export const listUsers: Query<UsersQuestion, UsersPage> = {
  text(_, { match }) {
    const matching = `from provisioned_users ${match === undefined ? '' : MATCHES[match.attribute]}`;
    return `select counted.total, page.*
      from (select count(*) as total ${matching}) counted
      left join (select ${COLUMNS} ${matching} order by user_id limit :limit offset :skip) page on true
      order by page.user_id`;
  },
  values: ({ match, skip, limit }) => ({
    value: match?.attribute === 'userName' ? userNameKey(match.value) : match?.value,
    skip,
    limit,
  }),
  read(rows: readonly (ProvisionedUserRow & { readonly user_id: UserId | null; readonly total: number })[]) {
    const found = rows.filter(({ user_id: userId }) => userId !== null);
    return { users: found.map(toProvisionedUser), total: rows[0]?.total ?? 0 };
  },
};

export const usersOfPerson: Query<SponsorKey, readonly ProvisionedUser[]> = {
  name: 'users_of_person',
  text: `select ${COLUMNS} from provisioned_users where sponsor_key = :sponsor_key order by user_id`,
  values: (sponsorKey) => ({ sponsor_key: storable('sponsor_key', sponsorKey) }),
  read: (rows: readonly ProvisionedUserRow[]) => rows.map(toProvisionedUser),
};

/** Reads the whole table. */
export const countUsers: Query<null, number> = {
  name: 'user_count',
  text: 'select count(*) as users from provisioned_users',
  read: ([row]: readonly { readonly users: number }[]) => row?.users ?? 0,
};

export function provisionedUsers(ask: Ask): ProvisionedUsers {
  return {
    find: (userId) => ask(findUser, userId),
    list: (question) => ask(listUsers, question),
    ofPerson: (sponsorKey) => ask(usersOfPerson, sponsorKey),
  };
}
