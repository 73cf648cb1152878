/** The records that a verification reads, as one stream across checkpoints and pages. */

import { toMillisecondText } from '../../domain/instant.ts';
import type { LedgerRecord } from '../../domain/ledger/record.ts';
import type { VerificationFault } from '../../domain/ledger/verification.ts';
import type { SeqRange } from '../ports/checkpoints.ts';
import { type PagedReading, recordPages } from './record-pages.ts';

export interface RecordStream {
  /** Calls `take` for each record up to a number, in order, from where the previous call ended. */
  through(lastSeq: number, take: (record: LedgerRecord) => void): Promise<void>;
  /** The fault if two of the records that were read have one number. */
  twice(): VerificationFault | undefined;
}

interface StreamReading extends Omit<PagedReading, 'pageSize'> {
  readonly progress?: ((done: number, total: number) => void) | undefined;
  /** The highest number that `progress` gets. */
  readonly total: number;
}

const RECORDS_AT_ONCE = 500;

export function recordStream({ ledger, turn, progress, total }: StreamReading, range: SeqRange): RecordStream {
  const pages = recordPages({ ledger, turn, pageSize: RECORDS_AT_ONCE }, range);
  let page: readonly LedgerRecord[] = [];
  let taken = 0;
  let last: LedgerRecord | undefined;
  let twice: VerificationFault | undefined;
  return {
    twice: () => twice,
    async through(lastSeq, take) {
      for (;;) {
        for (let record = page[taken]; record !== undefined; record = page[taken]) {
          if (record.seq > lastSeq) return;
          if (record.seq === last?.seq) twice ??= numberTwice(last, record);
          last = record;
          take(record);
          taken += 1;
        }
        const next = await pages.next();
        if (next.done) return;
        page = next.value;
        taken = 0;
        progress?.(Math.min(page[0]?.seq ?? 0, total), total);
      }
    },
  };
}

/** A database that gave numbers twice, after a failover or a restore, has two records of one number. */
function numberTwice(one: LedgerRecord, other: LedgerRecord): VerificationFault {
  const named = ({ event, at }: LedgerRecord) => `${event} of ${toMillisecondText(at)}`;
  const [earlier, later] = one.at <= other.at ? [one, other] : [other, one];
  return { kind: 'number_twice', seq: one.seq, records: [named(earlier), named(later)] };
}
