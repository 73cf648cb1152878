import type { DenialReason } from '../../domain/denial.ts';
import type { AgentId, SponsorKey, TaskId } from '../../domain/identifiers.ts';
import type { Instant } from '../../domain/instant.ts';
import type { LedgerDecision, LedgerEntry, LedgerRecord } from '../../domain/ledger/record.ts';
import type { SpentAssertion } from './tasks.ts';

/** A refusal, to be recorded by the transaction that decides it. */
export interface Refusal {
  readonly entry: LedgerEntry & { readonly decision: 'deny'; readonly reason: DenialReason };
  /** The assertion that this decision uses up, when it is one that does. */
  readonly assertion?: SpentAssertion | undefined;
  /** The person, when they had been found acceptable but for the list of blocks. */
  readonly sponsorKey?: SponsorKey | undefined;
}

/** Where a page ended: pages are ordered by time, then sequence number. */
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
  /** The time of asking: records younger than a transaction can be long are read with appends held off. */
  readonly now: Instant;
}

export interface LedgerPage {
  readonly records: readonly LedgerRecord[];
  /** `undefined` on the last page. */
  readonly next: LedgerPosition | undefined;
  /** The earliest instant still online; `undefined` while nothing has been archived. */
  readonly archivedBefore: Instant | undefined;
}

/** The append-only ledger. All methods may throw StorageUnavailable. */
export interface Ledger {
  /** Durable once it returns. */
  append(entry: LedgerEntry): Promise<void>;

  /**
   * Records a refusal and uses up its assertion, in one transaction, and answers the reason that was recorded. That
   * is another than the entry's in two cases, in which an earlier check fails after all: `actor_replayed` when the
   * assertion, or the client assertion beside it, was used before (the other one is used up then), and else the block's
   * reason when the person is on the list of blocks.
   */
  refuse(refusal: Refusal): Promise<DenialReason>;

  /**
   * One page, oldest first. No record that commits later sorts before `next`, so paging on from it neither skips nor
   * repeats one, whatever is being written meanwhile.
   */
  page(query: LedgerQuery): Promise<LedgerPage>;
}
