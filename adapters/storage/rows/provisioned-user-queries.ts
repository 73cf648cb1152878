/** What is asked of `provisioned_users`, rarely enough for a query builder; the same on both engines. */

import type { Knex } from 'knex';
import type { UsersQuestion } from '../../../application/ports/provisioned-users.ts';
import type { SponsorKey, UserId } from '../../../domain/identifiers.ts';
import { type ProvisionedUser, userNameKey } from '../../../domain/signals/provisioned-user.ts';
import type { BindInstant } from './column.ts';
import { provisionedUserColumnNames, provisionedUserColumns } from './provisioned-user-row.ts';

const TABLE = 'provisioned_users';

export function findUser(knex: Knex, userId: UserId) {
  return knex
    .select(...provisionedUserColumnNames)
    .from(TABLE)
    .where({ user_id: userId });
}

export function pageOfUsers(knex: Knex, { match, skip, limit }: UsersQuestion) {
  const query = knex
    .select(...provisionedUserColumnNames)
    .from(TABLE)
    .orderBy('user_id');
  return query.where(matching(match)).limit(limit).offset(skip);
}

export interface CountRow {
  readonly users: number;
}

export function countUsers(knex: Knex, match?: UsersQuestion['match']) {
  return knex(TABLE).count('* as users').where(matching(match));
}

function matching(match: UsersQuestion['match']): Readonly<Record<string, string>> {
  if (match === undefined) return {};
  return match.attribute === 'externalId' ? { external_id: match.value } : { user_name_key: userNameKey(match.value) };
}

/** Another user than `userId` that has the name. */
export function findByName(knex: Knex, userName: string, userId: UserId) {
  return knex
    .select('user_id')
    .from(TABLE)
    .where({ user_name_key: userNameKey(userName) })
    .whereNot({ user_id: userId });
}

export interface OtherUsersRow {
  readonly users: number;
  readonly inactive: number;
}

/** What the person's users other than `userId` say. */
export function countOthers(knex: Knex, sponsorKey: SponsorKey, userId: UserId) {
  return knex(TABLE)
    .count('* as users')
    .select(knex.raw('count(case when active then null else 1 end) as inactive'))
    .where({ sponsor_key: sponsorKey })
    .whereNot({ user_id: userId });
}

export function insertUser(knex: Knex, user: ProvisionedUser, instant: BindInstant) {
  return knex(TABLE).insert(provisionedUserColumns(user, instant));
}

/** Changes no row unless the stored revision is that of `stored`. */
export function replaceUser(knex: Knex, stored: ProvisionedUser, user: ProvisionedUser, instant: BindInstant) {
  return knex(TABLE).where(standing(stored)).update(provisionedUserColumns(user, instant));
}

export function deleteUser(knex: Knex, stored: ProvisionedUser) {
  return knex(TABLE).where(standing(stored)).delete();
}

function standing({ userId, revision }: ProvisionedUser) {
  return { user_id: userId, revision };
}
