import type { LedgerRecord } from '../../domain/ledger/record.ts';

/** The destination of a copy of every record (specification "Sink"). */
export interface Sink {
  /**
   * Sends one batch in sequence order. True after a success response; false for any other response, or for none within
   * ten seconds. Never throws, and never logs the records.
   */
  deliver(records: readonly LedgerRecord[]): Promise<boolean>;
}
