/** Converts rows of the `sponsor_blocks` table to blocks. */

import type { SponsorKey } from '../../../domain/identifiers.ts';
import type { BlockKind, BlockSource, SponsorBlock } from '../../../domain/sponsors/block.ts';
import type { tables } from '../tables.ts';
import type { ReadRow } from './column.ts';

export interface BlockRow extends Omit<ReadRow<typeof tables.sponsor_blocks>, 'stated_at'> {
  readonly sponsor_key: SponsorKey;
  readonly source: BlockSource;
  readonly kind: BlockKind;
}

export function toBlock(row: BlockRow): SponsorBlock {
  return { sponsorKey: row.sponsor_key, source: row.source, kind: row.kind, blockedAt: row.blocked_at };
}
