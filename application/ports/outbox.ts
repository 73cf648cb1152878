/** The queue of records for the sink, and the sink. */

import type { Instant } from '../../domain/instant.ts';
import type { LedgerRecord } from '../../domain/ledger/record.ts';

export interface Drain {
  /** Entries due by this time are taken. */
  readonly now: Instant;
  /** Maximum batch size; lowest sequence numbers first. */
  readonly limit: number;
}

export type DrainOutcome =
  /** Nothing was due, or another instance is delivering it. */
  | { readonly kind: 'nothing_due' }
  | { readonly kind: 'delivered'; readonly count: number }
  | { readonly kind: 'failed'; readonly count: number };

/**
 * The records that the sink has not received yet (specification "Sink"). While queueing is on, every append to the
 * ledger also queues its record here, in the same transaction. All methods may throw StorageUnavailable.
 */
export interface Outbox {
  /**
   * Turns queueing on or off for every instance and command on this database. The setting is stored with the ledger, so
   * that no appender can miss it. Queued records stay queued.
   */
  setQueueing(on: boolean): Promise<void>;

  /**
   * Takes a batch, calls `deliver`, and settles the batch: deleted if `deliver` returns true, otherwise due again after
   * a wait. The wait begins at the failure and doubles with each failure of an entry (domain/ledger/delivery.ts). An
   * entry that an instance with a wrong clock made due in the far future is due at once. No entry is in two drains at once. If an instance dies during a drain, its batch stays due: delivery is at least once.
   * `deliver` never throws.
   */
  drain(drain: Drain, deliver: (records: readonly LedgerRecord[]) => Promise<boolean>): Promise<DrainOutcome>;
}

/** The destination of a copy of every record (specification "Sink"). */
export interface Sink {
  /**
   * Sends one batch in sequence order. True after a success response; false for any other response, or for none within
   * ten seconds. Never throws, and never logs the records.
   */
  deliver(records: readonly LedgerRecord[]): Promise<boolean>;
}
