import type { Checkpoint } from '../../domain/ledger/checkpoint.ts';
import type { LedgerRecord } from '../../domain/ledger/record.ts';

/** A range of sequence numbers, both ends inclusive. */
export interface SeqRange {
  readonly firstSeq: number;
  readonly lastSeq: number;
}

/** What the next checkpoint has to seal. */
export interface Unsealed extends SeqRange {
  /** The newest checkpoint, which the next one links to; `undefined` before the first. */
  readonly previous: Checkpoint | undefined;
}

/** Where a sequence number stands. */
export type Sealing =
  /** No checkpoint covers this number. */
  | { readonly kind: 'not_sealed' }
  /** The export of its month holds what it has; only its checkpoint is still here. */
  | { readonly kind: 'archived'; readonly checkpoint: Checkpoint }
  /** Whether a record has it or not: what is not there may never have been, or may have been deleted. */
  | { readonly kind: 'sealed'; readonly checkpoint: Checkpoint };

/**
 * The seals of the ledger, append-only like it, and its records in the order of their numbers, which is the order they
 * are sealed in. All methods may throw StorageUnavailable; whether `add` was applied is then unknown.
 */
export interface Checkpoints {
  /**
   * The range from the last seal to the newest record, or `undefined` when nothing is unsealed. Final: it waits for
   * every append that has a number already, so none ever commits into it later (design "Storage", Sealing). Holds
   * appends up for no longer than the slowest one under way.
   */
  unsealed(): Promise<Unsealed | undefined>;

  /**
   * Up to `limit` records of a range whose numbers are above `after`, in the order of their numbers. Records of
   * archived months are no longer there. Should one number be there twice, as only tampering brings about, both are on
   * one page, which then is longer.
   */
  records(range: SeqRange, after: number, limit: number): Promise<readonly LedgerRecord[]>;

  /**
   * Adds a checkpoint, durably, if it is the successor of the newest one: its id is the next, its range begins where
   * that one ended. `overtaken` when another instance sealed meanwhile;
   * nothing was written then.
   */
  add(checkpoint: Checkpoint): Promise<'added' | 'overtaken'>;

  /** Up to `limit` checkpoints whose id is above `after`, oldest first. */
  page(after: number, limit: number): Promise<readonly Checkpoint[]>;

  /** Where a number stands, and by which checkpoint it is sealed. */
  sealing(seq: number): Promise<Sealing>;

  /** The last checkpoint whose records have left the ledger; those before it have left as well. `undefined`: none has. */
  archivedThrough(): Promise<Checkpoint | undefined>;
}
