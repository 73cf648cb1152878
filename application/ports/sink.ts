import type { LedgerRecord } from '../../domain/ledger/record.ts';

/** Where a copy of every record goes (specification "Sink"). */
export interface Sink {
  /**
   * Sends one batch, in the order of sequence numbers. True once the sink has answered with success; false for any
   * other answer, and for none within ten seconds. Never throws, and never says what was sent.
   */
  deliver(records: readonly LedgerRecord[]): Promise<boolean>;
}
