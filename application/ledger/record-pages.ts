/**
 * The records of a range, a page at a time, in the order of their numbers: the next page is on its way while one is
 * worked on, and everybody else has a turn between two of them. No more than two pages are ever held.
 */

import type { LedgerRecord } from '../../domain/ledger/record.ts';
import type { Checkpoints, SeqRange } from '../ports/checkpoints.ts';
import type { Turn } from '../ports/turn.ts';

export interface PagedReading {
  readonly ledger: Pick<Checkpoints, 'records'>;
  readonly turn: Turn;
  /** How many records are hashed in one go: some five microseconds each. */
  readonly pageSize: number;
}

export async function* recordPages(
  { ledger, turn, pageSize }: PagedReading,
  range: SeqRange,
): AsyncGenerator<readonly LedgerRecord[], undefined> {
  let reading = ledger.records(range, range.firstSeq - 1, pageSize);
  for (;;) {
    const page = await reading;
    const last = page.at(-1);
    if (last === undefined) return;
    const isLast = page.length < pageSize;
    if (!isLast) {
      reading = ledger.records(range, last.seq, pageSize);
      // Whoever stops reading here never learns of a page that fails.
      reading.catch(() => undefined);
    }
    yield page;
    if (isLast) return;
    await turn();
  }
}
