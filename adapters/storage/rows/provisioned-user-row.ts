/** Converts between provisioned users and rows of the `provisioned_users` table. */

import type { SponsorKey, UserId } from '../../../domain/identifiers.ts';
import { type ProvisionedUser, userNameKey } from '../../../domain/signals/provisioned-user.ts';
import { columnsOf, type RowOf, tables } from '../tables.ts';
import { type ReadRow, storable, storableOrNull } from './column.ts';

export interface ProvisionedUserRow extends Omit<ReadRow<typeof tables.provisioned_users>, 'user_name_key'> {
  readonly user_id: UserId;
  readonly sponsor_key: SponsorKey;
}

/** Every column that is read: `user_name_key` only finds rows. */
export const provisionedUserColumnNames = columnsOf(tables.provisioned_users).filter(
  (name) => name !== 'user_name_key',
);

export function toProvisionedUser(row: ProvisionedUserRow): ProvisionedUser {
  return {
    userId: row.user_id,
    userName: row.user_name,
    externalId: row.external_id ?? undefined,
    active: Boolean(row.active),
    sponsorKey: row.sponsor_key,
    revision: row.revision,
    createdAt: row.created_at,
    modifiedAt: row.modified_at,
  };
}

export function provisionedUserRow(user: ProvisionedUser): RowOf<typeof tables.provisioned_users> {
  return {
    user_id: user.userId,
    user_name: storable('user_name', user.userName),
    user_name_key: storable('user_name_key', userNameKey(user.userName)),
    external_id: storableOrNull('external_id', user.externalId),
    active: user.active,
    sponsor_key: storable('sponsor_key', user.sponsorKey),
    revision: user.revision,
    created_at: user.createdAt,
    modified_at: user.modifiedAt,
  };
}
