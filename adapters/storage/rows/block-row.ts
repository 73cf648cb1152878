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

export function toBlock(row: BlockRow): SponsorBlock {
  return { sponsorKey: row.sponsor_key, source: row.source, kind: row.kind, blockedAt: row.blocked_at };
}
