/** Converts rows of the `sponsor_blocks` table to blocks. */

import type { SponsorKey } from '../../../domain/identifiers.ts';
import type { Instant } from '../../../domain/instant.ts';
import type { BlockKind, BlockSource, SponsorBlock } from '../../../domain/sponsors/block.ts';

export interface BlockRow {
  readonly sponsor_key: SponsorKey;
  readonly source: BlockSource;
  readonly kind: BlockKind;
  readonly blocked_at: Instant;
}

export const BLOCK_COLUMNS = 'sponsor_key, source, kind, blocked_at';

/** A person's blocks in the order in which they were placed, then by source. */
export const OLDEST_FIRST = 'order by blocked_at, source';

export function toBlocks(rows: readonly BlockRow[]): readonly SponsorBlock[] {
  return rows.map((row) => ({
    sponsorKey: row.sponsor_key,
    source: row.source,
    kind: row.kind,
    blockedAt: row.blocked_at,
  }));
}
