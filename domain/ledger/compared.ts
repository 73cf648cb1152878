/**
 * A row that is stored beside the ledger, and whose hash a record has: compared with that record. The owner of the database
 * can change the row. So what differs is not shown, and decides nothing.
 */

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
  readonly what: 'approval' | 'purpose' | 'reason' | 'scope' | 'task';
  /** The key of the row. */
  readonly id: string;
  readonly how: /** The ledger has no record of the row. */
    | 'no_record'
    /** So it is if a month was archived that the record may be of: it was not compared. */
    | 'archived'
    /** The text has another hash. */
    | 'text'
    /** The record has other names: another task, person, digest, or another operator. */
    | 'names'
    /** The records say that the row has another state. */
    | 'state'
    /** The records contradict each other. */
    | 'records';
}

/** The records that a row is compared with, and whether some of its time may have been archived. */
export interface RecordsOfRow {
  readonly records: readonly {
    readonly event: string;
    readonly agentId?: string | undefined;
    readonly sponsor?: string | undefined;
    readonly audience?: string | undefined;
    readonly scope?: string | undefined;
    readonly detail?: string | undefined;
  }[];
  readonly isArchived: boolean;
}

const ROWS: Readonly<Record<Difference['what'], string>> = {
  approval: 'the approval',
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

export function isRecorded<Row, Of>(
  compared: Compared<Row, Of> | undefined,
): compared is Extract<Compared<Row, Of>, { readonly kind: 'same' }> {
  return compared?.kind === 'same';
}
