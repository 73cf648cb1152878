/** Archiving of the ledger: the months that it still has, the export of one, and its removal. */

import type { Instant } from '../../domain/instant.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import type { Month } from '../../domain/ledger/time-range.ts';
import type { SeqRange } from './checkpoints.ts';

/** The archived part of the ledger: everything up to and including these numbers, and nothing above. */
export interface Exported {
  readonly lastCheckpoint: number;
  readonly lastSeq: number;
}

/** A month that is still in the ledger. */
export interface HeldMonth {
  readonly month: Month;
  /** The name of its table. */
  readonly partition: string;
  /** The lowest and the highest sequence number in the month; `undefined` if it is empty. */
  readonly firstSeq: number | undefined;
  readonly lastSeq: number | undefined;
  /** Whether this month has been archived before, and its partition was created again. */
  readonly leftBefore: boolean;
  /** Whether the sink still lacks records of this month or earlier. */
  readonly undelivered: boolean;
}

/** The checkpoints of an export, and the range of numbers that they seal. */
export interface ExportedRange extends SeqRange {
  readonly firstCheckpoint: number;
  readonly lastCheckpoint: number;
}

export interface Departure {
  readonly month: Month;
  readonly at: Instant;
  /** The archived part before this month. If it has changed, the removal is refused. */
  readonly before: Exported;
  /** `undefined` if there was nothing to export. */
  readonly range: ExportedRange | undefined;
  /** The number of the sealed `audit.archived` record of this export. It stays in the ledger. */
  readonly recordedAs: number;
}

/** The months of the ledger, and their archiving. All methods may throw StorageUnavailable. */
export interface Archives {
  /**
   * Runs `work` under a database-wide lock; `busy` if another process holds it. The lock ends with the process or its
   * connection. `remove` is safe even then: it is refused if another process removed a month first.
   */
  exclusively<Answer>(work: () => Promise<Answer>): Promise<{ readonly answer: Answer } | 'busy'>;

  /** The database's own clock. */
  databaseTime(): Promise<Instant>;

  /** Every stored month before `month`, oldest first. */
  heldBefore(month: Month): Promise<readonly HeldMonth[]>;

  /** By the rows that removals store. They are not sealed. */
  exported(): Promise<Exported>;

  /** Appends an `audit.archived` entry, durably. */
  record(entry: LedgerEntry): Promise<void>;

  /**
   * One transaction: detaches and drops the month's partition, and stores the exported range. It
   * waits only briefly for its table lock, because appends wait meanwhile. If it does not get the lock, it answers
   * `locked`.
   *
   * In every case but `removed`, nothing was changed:
   * - `undelivered`: the sink still lacks records of this month or earlier.
   * - `gained`: the partition holds a record above the exported range.
   * - `overtaken`: the month is gone, or another process removed a month first.
   * - `unrecorded`: the ledger has no sealed record of the export, or the record would leave with the month.
   *
   * If it throws, whether the month was removed is unknown.
   */
  remove(departure: Departure): Promise<'removed' | 'undelivered' | 'gained' | 'overtaken' | 'unrecorded' | 'locked'>;
}
