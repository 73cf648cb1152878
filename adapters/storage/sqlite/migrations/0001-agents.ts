/** Registered agents (specification "Agent registration"). `sponsor_required` is always true and not stored. */

import type { Migration } from '../../rows/migrations.ts';

export const agents: Migration = {
  name: '0001-agents',
  statements: [
    `create table agents (
      agent_id text primary key,
      display_name text not null,
      allowed_scopes text not null,
      allowed_audiences text not null,
      high_risk_audiences text not null,
      max_task_ttl integer not null,
      max_token_ttl integer not null,
      max_delegation_depth integer not null,
      jwks_uri text,
      jwks text,
      enabled integer not null,
      revision integer not null,
      created_at integer not null,
      updated_at integer not null,
      constraint agents_one_source_of_keys check ((jwks_uri is null) <> (jwks is null))
    ) strict`,
  ],
};
