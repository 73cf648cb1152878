/** Reads of the ledger. Decisions append to it (decisions.ts). */

import type { AgentId } from '../../domain/identifiers.ts';
import type { Instant } from '../../domain/instant.ts';
import type { LedgerDecision, LedgerEntry, LedgerEvent, LedgerRecord } from '../../domain/ledger/record.ts';

/** The end of a page: records are ordered by time, then by sequence number. */
export interface LedgerPosition {
  readonly at: Instant;
  readonly seq: number;
}

export interface LedgerQuery extends Pick<LedgerEntry, 'sponsor' | 'agentId' | 'taskId' | 'audience' | 'reason'> {
  /** Inclusive. */
  readonly from?: Instant | undefined;
  /** Exclusive. */
  readonly to?: Instant | undefined;
  readonly decision?: LedgerDecision | undefined;
  readonly event?: LedgerEvent | undefined;
  /** The order of the page: by default the oldest record comes first. */
  readonly newestFirst?: boolean | undefined;
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
}

export interface DenialsQuestion {
  /** Inclusive. */
  readonly from: Instant;
  /** How many records may be read, the newest first. */
  readonly most: number;
  /** Counts these agents alone; `undefined`: all that records name. */
  readonly agents?: readonly AgentId[] | undefined;
  /** How many agents the answer has, those with the most denials. */
  readonly mostAgents: number;
}

/** The denials of the records that were read. */
export interface CountedDenials {
  readonly reasons: readonly DenialsForReason[];
  /** The most denials first. Records that name no agent are not here. */
  readonly agents: readonly DenialsOfAgent[];
}

/** The denials of one minute with one reason. */
export interface DenialsForReason {
  /** Its beginning. */
  readonly minute: Instant;
  /** `undefined` for records without a reason. */
  readonly reason: string | undefined;
  /** The records read. A record can sum up several denials. */
  readonly records: number;
  readonly denials: number;
}

export interface DenialsOfAgent {
  readonly agentId: AgentId;
  readonly denials: number;
}

/** Reads the append-only ledger. All methods may throw StorageUnavailable. */
export interface Ledger {
  /**
   * One page, oldest first. No record that commits later sorts before `next`. Continuing from it therefore neither
   * skips nor repeats a record, even if records are appended in between. Newest first there is no such guarantee: a record
   * that commits later may sort among those read.
   */
  page(query: LedgerQuery): Promise<LedgerPage>;

  /**
   * The number of the newest record; 0 in an empty ledger. Every record with a lower number is committed: none appears
   * later. It may wait for the appends under way, and never lets one wait.
   */
  settledThrough(): Promise<number>;

  /** Counts the denials by minute and reason, and by agent. */
  denials(question: DenialsQuestion): Promise<CountedDenials>;

  /** The number of the record that `records` newer numbers follow. 0 in a shorter ledger. */
  numberBefore(records: number): Promise<number>;
}
