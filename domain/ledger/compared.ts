/**
 * A row that is stored beside the ledger, and whose hash a record has: compared with that record. The owner of the database
 * can change the row. So what differs is not shown, and decides nothing.
 */

import type { Instant } from '../instant.ts';
import type { ArchivedPart } from './archived-part.ts';
import type { LedgerRecord } from './record.ts';

export type Compared<Row, Of = undefined> =
  | {
      readonly kind: 'same';
      readonly row: Row;
      /** What the record says. */
      readonly record: Of;
    }
  | {
      readonly kind: 'differs';
      /** For what needs no trust: its key, and a mark beside it. */
      readonly row: Row;
      readonly difference: Difference;
    };

export interface Difference {
  readonly what: 'approval' | 'authorization' | 'purpose' | 'reason' | 'scope' | 'task';
  /** The key of the row. */
  readonly id: string;
  /** `no_record`: the ledger has no record of the row. */
  readonly how:
    | 'no_record'
    /** The month of the record was archived, as a proved record says (`settled`), so the row was not compared. */
    | 'archived'
    /** The text has another hash. */
    | 'text'
    /** The record has other names: another task, person, digest, or another operator. */
    | 'names'
    /** The records say that the row has another state. */
    | 'state'
    /** The records contradict each other. */
    | 'records';
  /** With `no_record`: when the record was written, as the row says, and its number if the row has it. */
  readonly written?: { readonly at: Instant; readonly seq?: number } | undefined;
}

/** A record that a row is compared with. */
export type RecordOfRow = Pick<LedgerRecord, 'event' | 'agentId' | 'sponsor' | 'audience' | 'scope' | 'detail'>;

/** @param part what has left the ledger, as a proved record says: where the record of the row is of that part, it is rightly gone */
export function settled(
  difference: Difference,
  part: Pick<ArchivedPart, 'before' | 'lastSeq'> | undefined,
): Difference {
  const { how, written } = difference;
  if (how !== 'no_record' || written === undefined || part === undefined) return difference;
  const { at, seq } = written;
  const hasLeft = at < part.before && (seq === undefined || (seq >= 1 && seq <= part.lastSeq));
  return hasLeft ? { ...difference, how: 'archived' } : difference;
}

const ROWS: Readonly<Record<Difference['what'], string>> = {
  approval: 'the approval',
  authorization: 'the answer to',
  purpose: 'the purpose of',
  reason: 'the reason of record',
  scope: 'the origin of the scope of',
  task: 'the person of',
};

const HOW: Readonly<Record<Difference['how'], string>> = {
  no_record: 'the ledger has no record of it',
  archived: 'its record has been archived, so it was not compared',
  text: 'its text does not have the hash that the ledger has',
  names: 'the ledger has other names for it',
  state: 'the ledger has another state for it',
  records: 'its records contradict each other',
};

/** A sentence without any text of the row. */
export function describeDifference({ what, id, how }: Difference): string {
  return `Stored beside the ledger, ${ROWS[what]} ${id} differs: ${HOW[how]}.`;
}

export function differenceIn(compared: Compared<unknown, unknown>): Difference | undefined {
  return compared.kind === 'differs' ? compared.difference : undefined;
}

export function isRecorded<Row, Of>(
  compared: Compared<Row, Of> | undefined,
): compared is Extract<Compared<Row, Of>, { readonly kind: 'same' }> {
  return compared?.kind === 'same';
}
