import type { Instant } from '../../domain/instant.ts';
import type { LedgerRecord } from '../../domain/ledger/record.ts';

export interface Drain {
  /** Entries that are due by now. */
  readonly now: Instant;
  /** How many at most, lowest sequence numbers first. */
  readonly limit: number;
}

export type DrainOutcome =
  /** Nothing was due, or what was due is being delivered by somebody else. */
  | { readonly kind: 'nothing_due' }
  | { readonly kind: 'delivered'; readonly count: number }
  | { readonly kind: 'failed'; readonly count: number };

/**
 * The records that still have to be copied to the sink (specification "Sink"). While queueing is on, every append of
 * the ledger adds its record here in its own transaction, whoever appends. All methods may throw StorageUnavailable.
 */
export interface Outbox {
  /**
   * Turns queueing on or off, for every instance and command on this database, until it is set otherwise: the ledger
   * itself knows whether to queue, so no appender can forget. What is queued already stays.
   */
  setQueueing(on: boolean): Promise<void>;

  /**
   * Takes a batch, has it delivered, and settles it: deleted when `deliver` answers true, else due again after a wait,
   * counted from the failure, that doubles with each of an entry's failures (domain/ledger/delivery.ts). No entry is
   * in two drains at once. An instance that dies on the way leaves its batch due: delivery is at least once. `deliver`
   * never throws.
   */
  drain(drain: Drain, deliver: (records: readonly LedgerRecord[]) => Promise<boolean>): Promise<DrainOutcome>;
}
