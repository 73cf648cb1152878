/** Reads of `provisioned_users`, built with Knex; the same on both engines. */

import type { Knex } from 'knex';
import type { UsersQuestion } from '../../../application/ports/queries.ts';
import type { UserId } from '../../../domain/identifiers.ts';
import { userNameKey } from '../../../domain/signals/provisioned-user.ts';
import { provisionedUserColumnNames } from './provisioned-user-row.ts';

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
