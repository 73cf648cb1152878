/** What can be wrong with a line of an evidence bundle. */

export type BundleFaultKind =
  /** The line is not one that the format can have there, or the bundle is cut off. */
  | 'malformed'
  /** The record is not one of those that were selected, is out of order, or occurs twice. */
  | 'other_record'
  | 'root_mismatch'
  /** The words beside the record of a request are not those whose hash it has. */
  | 'other_words'
  /** The records of an approval contradict each other. */
  | 'approval_order'
  /** The records of a hand-over contradict each other. */
  | 'delegation_order'
  | 'unknown_key'
  | 'invalid_signature'
  /** The log does not contain the checkpoint. */
  | 'not_in_log'
  /** The note is malformed, or one of its signatures is not of the key that the bundle names. */
  | 'log_note'
  /** The records contradict the bundle's statement of completeness. */
  | 'completeness'
  /** All proofs hold, but a member that none covers was changed. */
  | 'digest';

export interface BundleFault {
  readonly kind: BundleFaultKind;
  /** Counted from 1. */
  readonly line: number;
  /** A sentence for an auditor. It quotes no part of a record. */
  readonly message: string;
}

/** Its message is the fault's sentence. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly kind: BundleFaultKind;

  constructor(kind: BundleFaultKind, sentence: string) {
    super(sentence);
    this.kind = kind;
  }
}
