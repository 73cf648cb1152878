/** The `sponsor_blocks` table's rows and the blocks they stand for. */

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

export function toBlock(row: BlockRow): SponsorBlock {
  return { sponsorKey: row.sponsor_key, source: row.source, kind: row.kind, blockedAt: row.blocked_at };
}
