import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { eventLoopTurn } from '../../../adapters/platform/system-clock.ts';
import { recordPages } from '../../../application/ledger/record-pages.ts';
import type { LedgerRecord } from '../../../domain/ledger/record.ts';

/** Records 1 to 5, in pages of two. */
const LAST = 5;
const PAGE_SIZE = 2;

describe('The pages of the records', () => {
  /** Sends each request in the next turn of the event loop, as the client of the SQLite thread does. */
  const ledgerOf = (sent: number[]) => ({
    async records(_range: unknown, after: number, limit: number) {
      await nextTurn();
      sent.push(after);
      const seqs = [after + 1, after + 2].filter((seq) => seq <= LAST).slice(0, limit);
      return seqs.map((seq) => ({ seq }) as LedgerRecord);
    },
  });

  it('hold every record once, and the next page is requested before the caller processes this one', async () => {
    const sent: number[] = [];
    const reading = { ledger: ledgerOf(sent), turn: eventLoopTurn, pageSize: PAGE_SIZE };
    const pages: unknown[] = [];
    for await (const page of recordPages(reading, { firstSeq: 1, lastSeq: LAST })) {
      pages.push([page.map(({ seq }) => seq), [...sent]]);
    }
    expect(pages).to.deep.equal([
      [
        [1, 2],
        [0, 2],
      ],
      [
        [3, 4],
        [0, 2, 4],
      ],
      [[5], [0, 2, 4]],
    ]);
  });
});
