/** The checkpoints: sealing appends one, proofs and verification read them with their records. */

import type { Checkpoint } from '../../domain/ledger/checkpoint.ts';
import type { LedgerRecord } from '../../domain/ledger/record.ts';

/** A range of sequence numbers, both ends inclusive. */
export interface SeqRange {
  readonly firstSeq: number;
  readonly lastSeq: number;
}

/** The range that the next checkpoint has to seal. */
export interface Unsealed extends SeqRange {
  /** The newest checkpoint, to which the next one links; `undefined` before the first. */
  readonly previous: Checkpoint | undefined;
}

/** A number that two records have, or more. */
export interface UsedTwice {
  readonly seq: number;
  /** Whether a checkpoint covers the number. */
  readonly isSealed: boolean;
}

/** Whether a sequence number is sealed. */
export type Sealing =
  /** No checkpoint covers the number. */
  | { readonly kind: 'not_sealed' }
  /** A checkpoint covers the number. A record with it may exist, may have been archived or deleted, or may never have existed. */
  | { readonly kind: 'sealed'; readonly checkpoint: Checkpoint };

/**
 * The checkpoints, append-only like the ledger, and the records in sequence order, in which they are sealed. All
 * methods may throw StorageUnavailable; whether `add` was applied is then unknown.
 */
export interface Checkpoints {
  /**
   * The range from the last checkpoint to the newest record; `undefined` if nothing is unsealed. The range is final:
   * the method waits for every append that already has a number, so none commits into it later. It delays new appends
   * no longer than the slowest running append takes.
   */
  unsealed(): Promise<Unsealed | undefined>;

  /**
   * Up to `limit` records of a range with numbers above `after`, in order. Archived records are missing. Only tampering
   * can store a number twice: both records are then on the same page, which is longer than `limit`.
   */
  records(range: SeqRange, after: number, limit: number): Promise<readonly LedgerRecord[]>;

  /**
   * Adds a checkpoint, durably, if it is the successor of the newest one: its id is the next, and its range begins
   * after the previous range. `overtaken`: another instance sealed first, and nothing was written.
   */
  add(checkpoint: Checkpoint): Promise<'added' | 'overtaken'>;

  /** The checkpoint with the highest id. `undefined` before the first one. */
  newest(): Promise<Checkpoint | undefined>;

  /** Up to `limit` checkpoints whose id is above `after`, oldest first. */
  page(after: number, limit: number): Promise<readonly Checkpoint[]>;

  /** Up to `limit` checkpoints, newest first, whose id is below `before` if that is set. */
  pageBefore(before: number | undefined, limit: number): Promise<readonly Checkpoint[]>;

  /**
   * The number of a record that no checkpoint can seal, as text: below 1, or beyond the safe integers, which `records` does
   * not read. Only tampering can store one. `undefined` in every other ledger.
   */
  outside(): Promise<string | undefined>;

  /**
   * The lowest unsealed number that two records have, else the lowest sealed one. `undefined` if each number has one record.
   * Only an owner of the database can store two. Each sealing pass asks: in a ledger that only the service wrote, the look-up
   * is cheap at any size.
   */
  usedTwice(): Promise<UsedTwice | undefined>;

  /** Whether a number is sealed, and by which checkpoint. */
  sealing(seq: number): Promise<Sealing>;

  /**
   * The latest `audit.archived` records, newest first, at most 100. They vouch for what left the ledger only if their
   * checkpoints verify (domain/ledger/archived-part.ts).
   */
  archivings(): Promise<readonly LedgerRecord[]>;
}
