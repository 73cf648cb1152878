/**
 * Reads the records of a range in pages, by sequence number. The next page is fetched while the caller works on the
 * current one, so at most two pages are in memory. It yields to the event loop before it hands over a page. The request
 * for the next page is therefore sent before the caller's work blocks the loop.
 */

import type { LedgerRecord } from '../../domain/ledger/record.ts';
import type { Checkpoints, SeqRange } from '../ports/checkpoints.ts';
import type { Turn } from '../ports/runtime.ts';

export interface PagedReading {
  readonly ledger: Pick<Checkpoints, 'records'>;
  readonly turn: Turn;
  /** The caller hashes a page without yielding, at about five microseconds a record. */
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
      // If the caller stops here, nothing awaits this promise: its rejection must not be unhandled.
      reading.catch(() => undefined);
    }
    await turn();
    yield page;
    if (isLast) return;
  }
}
