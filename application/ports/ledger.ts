import type { DenialReason } from '../../domain/denial.ts';
import type { AgentId, SponsorKey, TaskId } from '../../domain/identifiers.ts';
import type { Instant } from '../../domain/instant.ts';
import type { LedgerDecision, LedgerEntry, LedgerRecord } from '../../domain/ledger/record.ts';
import type { SpentAssertion } from './tasks.ts';

/** A refusal and the facts that the recording transaction checks. */
export interface Refusal {
  readonly entry: LedgerEntry & { readonly decision: 'deny'; readonly reason: DenialReason };
  /** The assertion that the refusal uses up, if it uses one up. */
  readonly assertion?: SpentAssertion | undefined;
  /** The person, if only a block could still refuse them. */
  readonly sponsorKey?: SponsorKey | undefined;
}

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
  readonly after?: LedgerPosition | undefined;
  readonly limit: number;
  /** The time of the query. Records so young that a running append could sort among them are read under a lock. */
  readonly now: Instant;
}

export interface LedgerPage {
  readonly records: readonly LedgerRecord[];
  /** `undefined` on the last page. */
  readonly next: LedgerPosition | undefined;
  /** The earliest instant that is not archived; `undefined` while no month has been archived. */
  readonly archivedBefore: Instant | undefined;
}

/** The append-only ledger. All methods may throw StorageUnavailable. */
export interface Ledger {
  /** The entry is durable once this returns. */
  append(entry: LedgerEntry): Promise<void>;

  /**
   * Records a refusal and uses up its assertion, in one transaction, and returns the recorded reason. It differs from
   * the entry's reason if an earlier check fails now:
   * - `actor_replayed` if the assertion, or the client assertion beside it, was used before. The other one is used up.
   * - the block's reason if the person is blocked.
   */
  refuse(refusal: Refusal): Promise<DenialReason>;

  /**
   * One page, oldest first. No record that commits later sorts before `next`. Continuing from it therefore neither
   * skips nor repeats a record, whatever is appended meanwhile.
   */
  page(query: LedgerQuery): Promise<LedgerPage>;
}
