/** Reads of the ledger. Decisions append to it (decisions.ts). */

import type { AgentId, TaskId } from '../../domain/identifiers.ts';
import type { Instant } from '../../domain/instant.ts';
import type { LedgerDecision, LedgerEvent, LedgerRecord } from '../../domain/ledger/record.ts';

/** The end of a page: records are ordered by time, then by sequence number. */
export interface LedgerPosition {
  readonly at: Instant;
  readonly seq: number;
}

export interface LedgerQuery {
  readonly sponsor?: string | undefined;
  readonly agentId?: AgentId | undefined;
  readonly taskId?: TaskId | undefined;
  /** Inclusive. */
  readonly from?: Instant | undefined;
  /** Exclusive. */
  readonly to?: Instant | undefined;
  readonly decision?: LedgerDecision | undefined;
  readonly event?: LedgerEvent | undefined;
  readonly audience?: string | undefined;
  readonly after?: LedgerPosition | undefined;
  readonly limit: number;
  /** How many records may be read for the page. It then may have fewer than `limit` although more follow. */
  readonly mostRead?: number | undefined;
  /** The time of the query. A running append could still sort among very recent records: these are read under a lock. */
  readonly now: Instant;
}

export interface LedgerPage {
  readonly records: readonly LedgerRecord[];
  /** `undefined` on the last page. */
  readonly next: LedgerPosition | undefined;
  /** The earliest instant that is not archived; `undefined` while no month has been archived. */
  readonly archivedBefore: Instant | undefined;
}

/** Reads the append-only ledger. All methods may throw StorageUnavailable. */
export interface Ledger {
  /**
   * One page, oldest first. No record that commits later sorts before `next`. Continuing from it therefore neither
   * skips nor repeats a record, even if records are appended in between.
   */
  page(query: LedgerQuery): Promise<LedgerPage>;

  /**
   * The number of the newest record; 0 in an empty ledger. Every record with a lower number is committed: none appears
   * later. It may wait for the appends under way, and never lets one wait.
   */
  settledThrough(): Promise<number>;
}
