/** Converts between provisioned users and rows of the `provisioned_users` table. */

import type { SponsorKey, UserId } from '../../../domain/identifiers.ts';
import type { Instant } from '../../../domain/instant.ts';
import { type ProvisionedUser, userNameKey } from '../../../domain/signals/provisioned-user.ts';
import type { RowOf, tables } from '../tables.ts';
import { storable, storableOrNull } from './column.ts';

export interface ProvisionedUserRow {
  readonly user_id: UserId;
  readonly user_name: string;
  readonly external_id: string | null;
  readonly active: boolean | number;
  readonly sponsor_key: SponsorKey;
  readonly revision: number;
  readonly created_at: Instant;
  readonly modified_at: Instant;
}

export const provisionedUserColumnNames = [
  'user_id',
  'user_name',
  'external_id',
  'active',
  'sponsor_key',
  'revision',
  'created_at',
  'modified_at',
] as const satisfies readonly (keyof ProvisionedUserRow)[];

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
