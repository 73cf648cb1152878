/** Converts rows of the `sponsor_blocks` table to blocks. */

import type { Knex } from 'knex';
import type { BlockCount, BlocksQuestion } from '../../../application/ports/queries.ts';
import type { SponsorKey } from '../../../domain/identifiers.ts';
import type { Instant } from '../../../domain/instant.ts';
import type { BlockKind, BlockSource, SponsorBlock } from '../../../domain/sponsors/block.ts';
import { type BindInstant, type Bound, LATEST } from './column.ts';

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

/** Later than every block. */
const LAST = { blockedAt: LATEST, sponsorKey: '', source: '' } as const;

/** Selects the blocks of a source that come after a position, by an index that begins with the source. */
export type OfSource = (
  select: Knex.QueryBuilder,
  source: BlockSource,
  after: readonly [Bound, SponsorKey | ''],
) => Knex.QueryBuilder;

export function pageOfBlocks(
  knex: Knex,
  { source, after, limit }: BlocksQuestion,
  instant: BindInstant,
  ofSource: OfSource,
): Knex.QueryBuilder {
  const { blockedAt, sponsorKey, source: last } = after ?? LAST;
  const select = knex.select(knex.raw(BLOCK_COLUMNS)).from('sponsor_blocks').limit(limit);
  if (source !== undefined) {
    return ofSource(select, source, [instant(blockedAt), sponsorKey]).orderByRaw(
      'source desc, blocked_at desc, sponsor_key desc',
    );
  }
  // The row comparison alone tells Postgres nothing about `blocked_at`.
  return select
    .where('blocked_at', '<=', instant(blockedAt))
    .whereRaw('(blocked_at, sponsor_key, source) < (?, ?, ?)', [instant(blockedAt), sponsorKey, last])
    .orderByRaw('blocked_at desc, sponsor_key desc, source desc');
}

/**
 * A person may have a block of each source, so the people are counted apart.
 *
 * @param most the statement's parameter: how many blocks are counted at most
 */
export const selectBlockCount = (
  most: string,
) => `with counted as (select sponsor_key, source from sponsor_blocks limit ${most})
  select source, count(*) as blocks, (select count(distinct sponsor_key) from counted) as people
  from counted group by source`;

export interface BlockCountRow {
  readonly source: BlockSource;
  readonly blocks: number;
  readonly people: number;
}

export function toBlockCount(rows: readonly BlockCountRow[]): BlockCount {
  const bySource = Object.fromEntries(rows.map(({ source, blocks }) => [source, blocks]));
  return { people: rows[0]?.people ?? 0, bySource };
}
