/** Users provisioned by SCIM (specification "Provisioning user"): identifiers, whether they are active, nothing else. */

import type { Migration } from '../../rows/migrations.ts';

export const provisionedUsers: Migration = {
  name: '0009-provisioned-users',
  statements: [
    `create table provisioned_users (
      user_id text primary key,
      user_name text not null,
      -- The name in the form in which names are compared.
      user_name_key text not null unique,
      external_id text,
      active integer not null,
      -- The person that the last write was about.
      sponsor_key text not null,
      revision integer not null,
      created_at integer not null,
      modified_at integer not null
    ) strict, without rowid`,
    `create index provisioned_users_by_external_id on provisioned_users (external_id) where external_id is not null`,
    `create index provisioned_users_by_sponsor on provisioned_users (sponsor_key)`,
  ],
};
