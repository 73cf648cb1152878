import type { Instant } from '../../domain/instant.ts';
import type { Month } from '../../domain/ledger/month.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import type { SeqRange } from './checkpoints.ts';

/** What has left so far: everything through these numbers is in an export, and nothing above them. */
export interface Exported {
  readonly lastCheckpoint: number;
  readonly lastSeq: number;
}

/** A month that the ledger still holds. */
export interface HeldMonth {
  readonly month: Month;
  /** The table that holds it. */
  readonly partition: string;
  /** The highest number among its records; `undefined` when it has none. */
  readonly lastSeq: number | undefined;
  /** Whether a month of this name has left before, and its partition was made anew. */
  readonly leftBefore: boolean;
  /** Whether records that old still have to be copied to the sink. */
  readonly undelivered: boolean;
}

/** What an export holds, by its checkpoints and the range they seal. */
export interface ExportedRange extends SeqRange {
  readonly firstCheckpoint: number;
  readonly lastCheckpoint: number;
}

export interface Departure {
  readonly month: Month;
  readonly at: Instant;
  /** What had left before this month: the departure is refused when that is no longer so. */
  readonly before: Exported;
  /** `undefined` when there was nothing to export. */
  readonly range: ExportedRange | undefined;
  /** `audit.archived`. */
  readonly entry: LedgerEntry;
}

/** The months of the ledger, and their leaving. All methods may throw StorageUnavailable. */
export interface Archives {
  /**
   * Runs `work` while nobody else does so on the same database. The hold ends with the process, and with the
   * connection: `remove` is safe even then, because it is refused when another departure came between.
   */
  exclusively<Answer>(work: () => Promise<Answer>): Promise<{ readonly answer: Answer } | 'busy'>;

  /** Every month before this one that is still held, oldest first. */
  heldBefore(month: Month): Promise<readonly HeldMonth[]>;

  exported(): Promise<Exported>;

  /**
   * One transaction: appends the entry, detaches and drops the month's partition and notes what left. Appends wait for
   * it no longer than a moment: when its lock is not to be had within that, nothing happened, and it is `locked`.
   *
   * `undelivered`: records that old still have to be copied to the sink; nothing happened.
   * `gained`: the partition holds a record above everything exported; nothing happened.
   * `overtaken`: the month is gone, or another departure came between; nothing happened.
   *
   * When it throws, whether the month left is unknown.
   */
  remove(departure: Departure): Promise<'removed' | 'undelivered' | 'gained' | 'overtaken' | 'locked'>;
}
