/** Blocks (specification "Sponsor block"): a row exists only while a person is refused. */

import type { Migration } from '../../sql/migrations.ts';

export const sponsors: Migration = {
  name: '0002-sponsors',
  statements: [
    `create table sponsor_blocks (
      sponsor_key text primary key,
      source text not null check (source in ('admin', 'scim', 'ssf')),
      kind text not null check (kind in ('disabled', 'deleted')),
      blocked_at integer not null,
      -- When its source said so: of a security event the iat, else when it was placed. Later statements move it.
      stated_at integer not null
    ) strict`,
  ],
};
