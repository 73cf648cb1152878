/** Registered agents (specification "Agent registration"). `sponsor_required` is always true and not stored. */

import type { Migration } from '../../rows/migrations.ts';

export const agents: Migration = {
  name: '0001-agents',
  statements: [
    `create table agents (
      -- Collated by byte, as everywhere that text is a key: the order of code points, and no index that a change of
      -- the operating system's collation could break.
      agent_id text collate "C" primary key,
      display_name text not null,
      allowed_scopes text not null,
      allowed_audiences json not null,
      high_risk_audiences json not null,
      max_task_ttl integer not null,
      max_token_ttl integer not null,
      max_delegation_depth integer not null,
      jwks_uri text,
      jwks json,
      enabled boolean not null,
      revision bigint not null,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      constraint agents_one_source_of_keys check (num_nonnulls(jwks_uri, jwks) = 1)
    )`,
  ],
};
