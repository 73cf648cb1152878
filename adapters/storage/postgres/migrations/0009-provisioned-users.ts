/** Users provisioned by SCIM (specification "Provisioning user"): identifiers, whether they are active, nothing else. */

import type { Migration } from '../../rows/migrations.ts';
import { BY_INDEX } from '../by-index.ts';

export const provisionedUsers: Migration = {
  name: '0009-provisioned-users',
  statements: [
    `create table provisioned_users (
      user_id text collate "C" primary key,
      user_name text not null,
      -- The name in the form in which names are compared.
      user_name_key text collate "C" not null unique,
      external_id text collate "C",
      active boolean not null,
      -- The person that the last write was about.
      sponsor_key text collate "C" not null,
      revision bigint not null,
      created_at timestamptz not null,
      modified_at timestamptz not null
    )`,
    `create index provisioned_users_by_external_id on provisioned_users (external_id) where external_id is not null`,
    `create index provisioned_users_by_sponsor on provisioned_users (sponsor_key)`,

    // Which of one or two people have live tasks, all of which are locked for what follows: rows come before the ledger's
    // fence, and a write that is about two people records the first one's end before it comes to the second's rows.
    `create function lock_tasks_of_sponsors(p_sponsor_keys text[], p_at timestamptz) returns setof text
    language plpgsql ${BY_INDEX} as $$
    declare
      v_ids text[] := array(select task_id from tasks where sponsor_key = any (p_sponsor_keys) and state = 'live');
    begin
      v_ids := lock_live_tasks(v_ids, p_at);
      return query select distinct sponsor_key from tasks where task_id = any (v_ids);
    end $$`,
  ],
};
