/** A block beside live tasks, which no decision of the service leaves: every decision that blocks ends them. */

import type { SponsorBlock } from '../../domain/sponsors/block.ts';
import type { Outside } from '../support/databases.ts';
import type { Storage } from '../support/storage.ts';
import { newSponsorKey } from './scene.ts';

/** Places the block on a stranger, then copies its row to the person from outside. */
export async function copyBlock(storage: Storage, outside: Outside, block: SponsorBlock): Promise<void> {
  const stranger = newSponsorKey();
  await storage.sponsors.block({ ...block, sponsorKey: stranger }, 'sponsor_blocked');
  await outside.sql(
    `insert into sponsor_blocks (sponsor_key, source, kind, blocked_at, stated_at)
      select '${block.sponsorKey}', source, kind, blocked_at, stated_at
        from sponsor_blocks where sponsor_key = '${stranger}'`,
  );
}
