/** Inserts a block without ending the person's tasks. Every decision that blocks also ends tasks. */

import type { SponsorBlock } from '../../domain/sponsors/block.ts';
import type { OutsideConnection } from '../support/databases.ts';
import type { Storage } from '../support/storage.ts';
import { newSponsorKey } from './storage-fixtures.ts';

/** Blocks another person, then copies that person's row by SQL. */
export async function insertBlockOnly(
  storage: Storage,
  outside: OutsideConnection,
  block: SponsorBlock,
): Promise<void> {
  const stranger = newSponsorKey();
  await storage.sponsors.block({ ...block, sponsorKey: stranger }, 'sponsor_blocked');
  await outside.sql(
    `insert into sponsor_blocks (sponsor_key, source, kind, blocked_at, stated_at)
      select '${block.sponsorKey}', source, kind, blocked_at, stated_at
        from sponsor_blocks where sponsor_key = '${stranger}'`,
  );
}
