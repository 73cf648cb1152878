/** The blocks of a person on SQLite, read by every decision that a block refuses. */

import type { SponsorKey } from '../../../domain/identifiers.ts';
import type { SponsorBlock } from '../../../domain/sponsors/block.ts';
import { BLOCK_COLUMNS, type BlockRow, OLDEST_FIRST, toBlocks } from '../rows/block-row.ts';
import type { Run } from './connections.ts';

const find = `select ${BLOCK_COLUMNS} from sponsor_blocks where sponsor_key = ? ${OLDEST_FIRST}`;

export function findBlocks(run: Run, sponsorKey: SponsorKey): readonly SponsorBlock[] {
  return toBlocks(run<BlockRow>(find, [sponsorKey]).rows);
}
