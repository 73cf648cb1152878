/** Reads the ledger in pages (specification "GET /audit"). `reason` and `newestFirst` are the console's alone. */

import type { Instant } from '../../domain/instant.ts';
import type { Checkpoint } from '../../domain/ledger/checkpoint.ts';
import { formatCursor, type PageCursor } from '../../domain/ledger/page-cursor.ts';
import type { LedgerRecord } from '../../domain/ledger/record.ts';
import type { Checkpoints } from '../ports/checkpoints.ts';
import type { Ledger, LedgerQuery } from '../ports/ledger.ts';
import type { Clock, Digest } from '../ports/runtime.ts';
import type { FindArchivedPart } from './find-archived-part.ts';

interface LedgerReading {
  readonly ledger: Pick<Ledger, 'page'>;
  readonly clock: Clock;
  readonly digest: Digest;
  readonly archivedPart: FindArchivedPart;
}

/** A record must match all filters that are set. `newestFirst` is the order of the pages. */
type LedgerFilters = Omit<LedgerQuery, 'after' | 'limit' | 'mostRead' | 'now'>;

export interface LedgerQuestion {
  readonly filters: LedgerFilters;
  readonly limit: number;
  /** Where the previous page ended. */
  readonly cursor: PageCursor | undefined;
}

export type LedgerAnswer =
  | {
      readonly kind: 'page';
      readonly records: readonly LedgerRecord[];
      /** `undefined` on the last page. */
      readonly nextCursor: string | undefined;
      readonly archivedBefore: Instant | undefined;
    }
  /** The cursor belongs to other filters. Continuing with it would skip records that these filters select. */
  | { readonly kind: 'foreign_cursor' };

/**
 * A search for a rare audience would read the whole ledger: its pages end after this many records were read, even if
 * none matched.
 */
export const MOST_READ = 10_000;

export async function queryLedger(service: LedgerReading, question: LedgerQuestion): Promise<LedgerAnswer> {
  const { filters, limit, cursor } = question;
  const ours = fingerprintOf(service.digest, filters);
  if (cursor !== undefined && cursor.fingerprint !== ours) return { kind: 'foreign_cursor' };
  const after = cursor === undefined ? undefined : { at: cursor.at, seq: cursor.seq };
  const isSearch = filters.event !== undefined || filters.audience !== undefined || filters.reason !== undefined;
  const mostRead = isSearch ? MOST_READ : undefined;
  const page = await service.ledger.page({ ...filters, limit, mostRead, after, now: service.clock.now() });
  return {
    kind: 'page',
    records: page.records,
    nextCursor: page.next === undefined ? undefined : formatCursor({ ...page.next, fingerprint: ours }),
    // After the page: a month that left before it was read is named.
    archivedBefore: (await service.archivedPart())?.before,
  };
}

/** 128 bits, so that two filters never collide by chance. A forged cursor gains nothing: its sender may read everything. */
const FINGERPRINT_LENGTH = 32;

/**
 * The `limit` is not part of the fingerprint: it may change from page to page. Later filters count only where they are
 * set, so that a cursor of an earlier release stays valid.
 */
function fingerprintOf(digest: Digest, filters: LedgerFilters): string {
  const { sponsor, agentId, taskId, from, to, decision, event, audience, reason, newestFirst } = filters;
  const later = event === undefined && audience === undefined ? [] : [event, audience];
  const ofConsole =
    reason === undefined && newestFirst !== true ? [] : ['console', reason, String(newestFirst === true)];
  return fingerprint(digest, [sponsor, agentId, taskId, from, to, decision, ...later, ...ofConsole]);
}

/** The query that a cursor continues, as its fingerprint sees it. */
export function fingerprint(digest: Digest, filters: readonly (string | number | undefined)[]): string {
  return digest(JSON.stringify(filters.map((filter) => filter ?? null))).slice(0, FINGERPRINT_LENGTH);
}

export interface CheckpointsQuestion {
  /** The id of the previous page's last checkpoint; 0 for the first page. */
  readonly after: number;
  readonly limit: number;
}

export interface CheckpointsPage {
  readonly checkpoints: readonly Checkpoint[];
  /** `undefined` on the last page. */
  readonly nextAfter: number | undefined;
}

/** Lists checkpoints in pages, oldest first (specification "GET /audit/checkpoints"). */
export async function listCheckpoints(
  { checkpoints }: { readonly checkpoints: Pick<Checkpoints, 'page'> },
  { after, limit }: CheckpointsQuestion,
): Promise<CheckpointsPage> {
  // Read one more than the limit: it tells whether another page follows.
  const found = await checkpoints.page(after, limit + 1);
  const page = found.slice(0, limit);
  return { checkpoints: page, nextAfter: found.length > limit ? page.at(-1)?.checkpointId : undefined };
}

export interface NewestCheckpoints {
  /** Newest first. */
  readonly checkpoints: readonly Checkpoint[];
  /** The id before which the next page continues; `undefined` on the last page. */
  readonly nextBefore: number | undefined;
}

/** Lists checkpoints in pages, newest first. @param question.before `undefined` for the first page */
export async function listNewestCheckpoints(
  { checkpoints }: { readonly checkpoints: Pick<Checkpoints, 'pageBefore'> },
  { before, limit }: { readonly before: number | undefined; readonly limit: number },
): Promise<NewestCheckpoints> {
  const found = await checkpoints.pageBefore(before, limit + 1);
  const page = found.slice(0, limit);
  return { checkpoints: page, nextBefore: found.length > limit ? page.at(-1)?.checkpointId : undefined };
}
