/** Queries of the people and their blocks. */

import { PENDING_SECONDS } from '../../../application/decisions/lift-block.ts';
import type {
  BlockCount,
  BlocksQuestion,
  DelegationRefusal,
  DelegationRefusalsQuestion,
  PendingLift,
  Sponsors,
} from '../../../application/ports/sponsors.ts';
import type { AgentId, SponsorKey } from '../../../domain/identifiers.ts';
import { type Instant, plusSeconds } from '../../../domain/instant.ts';
import type { BlockSource, SponsorBlock } from '../../../domain/sponsors/block.ts';
import { type BlockRow, toBlock } from '../rows/block-row.ts';
import { LATEST, storable } from '../rows/column.ts';
import type { Ask, Query } from './query.ts';

const COLUMNS = 'sponsor_key, source, kind, blocked_at';

export const findBlocks: Query<SponsorKey, readonly SponsorBlock[]> = {
  name: 'find_blocks',
  text: `select ${COLUMNS} from sponsor_blocks where sponsor_key = :sponsor_key order by blocked_at, source`,
  values: (sponsorKey) => ({ sponsor_key: storable('sponsor_key', sponsorKey) }),
  read: (rows: readonly BlockRow[]) => rows.map(toBlock),
};

/** The end of a page before the first: later than every block. */
const LAST = { blockedAt: LATEST, sponsorKey: '', source: '' } as const;

export const listBlocks: Query<BlocksQuestion, readonly SponsorBlock[]> = {
  plan: 'in_order',
  text(dialect, { source }) {
    const ofSource = { blocked_at: ':blocked_at', sponsor_key: ':sponsor_key' };
    const { conditions, order } =
      source === undefined
        ? {
            // The row comparison alone tells Postgres nothing about `blocked_at`.
            conditions: [
              'blocked_at <= :blocked_at',
              '(blocked_at, sponsor_key, source) < (:blocked_at, :sponsor_key, :last_source)',
            ],
            order: ['blocked_at', 'sponsor_key', 'source'],
          }
        : dialect.before({ source: ':source' }, ofSource);
    return `select ${COLUMNS} from sponsor_blocks
      where ${conditions.join(' and ')}
      order by ${order.map((column) => `${column} desc`).join(', ')} limit :limit`;
  },
  values({ source, after = LAST, limit }, { instant }) {
    const { blockedAt, sponsorKey, source: lastSource } = after;
    return { source, blocked_at: instant(blockedAt), sponsor_key: sponsorKey, last_source: lastSource, limit };
  },
  read: (rows: readonly BlockRow[]) => rows.map(toBlock),
};

interface BlockCountRow {
  readonly source: BlockSource;
  readonly blocks: number;
  readonly people: number;
}

/** A person may have a block of each source, so the people are counted apart. */
export const countBlocks: Query<number, BlockCount> = {
  name: 'count_blocks',
  text: `with counted as (select sponsor_key, source from sponsor_blocks limit :most)
    select source, count(*) as blocks, (select count(distinct sponsor_key) from counted) as people
      from counted group by source`,
  values: (most) => ({ most }),
  read: (rows: readonly BlockCountRow[]) => ({
    people: rows[0]?.people ?? 0,
    bySource: Object.fromEntries(rows.map(({ source, blocks }) => [source, blocks])),
  }),
};

interface AtTime {
  readonly sponsorKey: SponsorKey;
  readonly now: Instant;
}

interface PendingLiftRow {
  readonly iss: string;
  readonly sub: string;
  readonly forget_at: Instant;
}

export const pendingLift: Query<AtTime, PendingLift | undefined> = {
  name: 'pending_lift',
  text: 'select iss, sub, forget_at from pending_unblocks where sponsor_key = :sponsor_key and forget_at > :now',
  values: ({ sponsorKey, now }, { instant }) => ({
    sponsor_key: storable('sponsor_key', sponsorKey),
    now: instant(now),
  }),
  read: ([row]: readonly PendingLiftRow[]) =>
    row && {
      issuer: row.iss,
      subject: row.sub,
      askedAt: plusSeconds(row.forget_at, -PENDING_SECONDS),
      until: row.forget_at,
    },
};

interface DelegationRefusalRow {
  readonly agent_id: AgentId;
  readonly display_name: string;
  readonly refused_at: Instant;
}

/** A person has a row for each agent at most, so they may be sorted. */
export const delegationRefusals: Query<DelegationRefusalsQuestion, readonly DelegationRefusal[]> = {
  plan: 'by_index',
  text: (dialect, { among }) => `select d.agent_id, a.display_name, d.refused_at
      from delegation_refusals d join agents a on a.agent_id = d.agent_id
      where d.sponsor_key = :sponsor_key${among === undefined ? '' : ` and d.agent_id ${dialect.among(dialect.texts(':agent_ids'))}`}
      order by d.refused_at desc, d.agent_id limit :limit`,
  values: ({ sponsorKey, among, limit }) => ({
    sponsor_key: storable('sponsor_key', sponsorKey),
    agent_ids: among && JSON.stringify(among),
    limit,
  }),
  read: (rows: readonly DelegationRefusalRow[]) =>
    rows.map(({ agent_id, display_name, refused_at }) => ({
      agentId: agent_id,
      displayName: display_name,
      refusedAt: refused_at,
    })),
};

export function sponsors(ask: Ask): Sponsors {
  return {
    findBlocks: (sponsorKey) => ask(findBlocks, sponsorKey),
    list: (question) => ask(listBlocks, question),
    countBlocks: (most) => ask(countBlocks, most),
    pendingLift: (sponsorKey, now) => ask(pendingLift, { sponsorKey, now }),
    delegationRefusals: (question) => ask(delegationRefusals, question),
  };
}
