/** The denials of the last minutes, by minute and reason. */

import { type Instant, MICROS_PER_SECOND, plusSeconds, secondsBetween } from '../../domain/instant.ts';
import { parseCursor } from '../../domain/ledger/page-cursor.ts';
import type { LedgerRecord } from '../../domain/ledger/record.ts';
import type { LedgerAnswer, LedgerQuestion } from '../ledger/query.ts';

export interface RecentDenials {
  /** The beginnings of the minutes, oldest first. The last one is not over. */
  readonly minutes: readonly Instant[];
  /** Most frequent first. `counts` are in the order of the minutes. */
  readonly reasons: readonly DeniedFor[];
  /** Whether there are more records than were read: then the counts of the last minutes are too low. */
  readonly isCut: boolean;
}

export interface DeniedFor {
  readonly reason: string;
  readonly counts: readonly number[];
  readonly total: number;
}

const MINUTES = 10;
const MINUTE = 60;
const PAGE = 1000;
/** 5,000 records: more would say nothing that these do not. */
const MOST_PAGES = 5;

/** @param query reads a page of the ledger */
export async function recentDenials(
  query: (question: LedgerQuestion) => Promise<LedgerAnswer>,
  now: Instant,
): Promise<RecentDenials> {
  const minute = MINUTE * MICROS_PER_SECOND;
  const current = (now - (now % minute)) as Instant;
  const from = plusSeconds(current, -MINUTE * (MINUTES - 1));
  const minutes = Array.from({ length: MINUTES }, (_, nth) => plusSeconds(from, nth * MINUTE));
  const records: LedgerRecord[] = [];
  let cursor: LedgerQuestion['cursor'];
  let pages = 0;
  do {
    const answer = await query({ filters: { decision: 'deny', from }, limit: PAGE, cursor });
    if (answer.kind !== 'page') break;
    records.push(...answer.records);
    pages += 1;
    cursor = answer.nextCursor === undefined ? undefined : parseCursor(answer.nextCursor);
  } while (cursor !== undefined && pages < MOST_PAGES);
  return { minutes, reasons: byReason(records, from), isCut: cursor !== undefined };
}

function byReason(records: readonly LedgerRecord[], from: Instant): readonly DeniedFor[] {
  const counted = new Map<string, number[]>();
  for (const { reason, at, count } of records) {
    const nth = Math.min(MINUTES - 1, Math.floor(secondsBetween(from, at) / MINUTE));
    const name = reason ?? 'no reason';
    const counts = counted.get(name) ?? Array.from({ length: MINUTES }, () => 0);
    // A summary of anonymous denials counts several.
    counts[nth] = (counts[nth] ?? 0) + (count ?? 1);
    counted.set(name, counts);
  }
  return [...counted]
    .map(([reason, counts]) => ({ reason, counts, total: counts.reduce((sum, each) => sum + each, 0) }))
    .sort((one, other) => other.total - one.total || (one.reason < other.reason ? -1 : 1));
}
