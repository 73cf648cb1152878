/** Places a block beside live tasks. No decision leaves such a state, because each block ends the person's tasks. */

import type { SponsorBlock } from '../../domain/sponsors/block.ts';
import type { Outside } from '../support/databases.ts';
import type { Storage } from '../support/storage.ts';
import { newSponsorKey } from './scene.ts';

/** Places the block on another person, then copies its row from outside. */
export async function copyBlock(storage: Storage, outside: Outside, block: SponsorBlock): Promise<void> {
  const stranger = newSponsorKey();
  await storage.sponsors.block({ ...block, sponsorKey: stranger }, 'sponsor_blocked');
  await outside.sql(
    `insert into sponsor_blocks (sponsor_key, source, kind, blocked_at, stated_at)
      select '${block.sponsorKey}', source, kind, blocked_at, stated_at
        from sponsor_blocks where sponsor_key = '${stranger}'`,
  );
}
