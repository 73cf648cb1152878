/** Blocks, one per person and source (specification "Sponsor block"): a row exists only while its source refuses the person. */

import type { Migration } from '../../rows/migrations.ts';

export const sponsors: Migration = {
  name: '0002-sponsors',
  statements: [
    `create table sponsor_blocks (
      sponsor_key text collate "C" not null,
      source text not null check (source in ('admin', 'scim', 'ssf')),
      kind text not null check (kind in ('disabled', 'deleted')),
      blocked_at timestamptz not null,
      -- When its source stated it: the iat of a security event, else blocked_at. A later statement of the source moves it.
      stated_at timestamptz not null,
      primary key (sponsor_key, source)
    )`,
  ],
};
