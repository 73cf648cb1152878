import type { SponsorKey } from '../../domain/identifiers.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import type { BlockSource, SponsorBlock } from '../../domain/sponsors/block.ts';
import type { RevocationReason } from '../../domain/tasks/task.ts';

export type LiftOutcome =
  /** This source's block is gone. Other sources may still block the person. */
  | 'lifted'
  | 'not_blocked'
  /** Only other sources block the person, and go on doing so. */
  | 'not_owned';

/** The humans this service will not act for. All methods may throw StorageUnavailable. */
export interface Sponsors {
  /** The person's blocks, one per source at most, oldest first. Empty where the person is not blocked. */
  findBlocks(sponsorKey: SponsorKey): Promise<readonly SponsorBlock[]>;

  /**
   * Places the block of `block.source` and ends the person's live tasks (not those whose time is up) with `reason`, in
   * one transaction with a `sponsor.blocked` entry (only when the block is new) and, per task, what Tasks.revokeByGrant
   * says. Waits for decisions about this person that are under way. If this source has blocked the person before, its
   * block stays as it is. Blocks of other sources are never touched. The tasks end in any case.
   *
   * @returns all blocks of the person, oldest first
   */
  block(
    block: SponsorBlock,
    reason: RevocationReason,
  ): Promise<{ readonly blocks: readonly SponsorBlock[]; readonly revokedTasks: number }>;

  /**
   * Lifts this source's block of a person, and appends `entry`. Where only other sources block the person, nothing is
   * lifted and `refusal` is appended. No task comes back. Waits for decisions about this person that are under way.
   */
  lift(sponsorKey: SponsorKey, source: BlockSource, entry: LedgerEntry, refusal: LedgerEntry): Promise<LiftOutcome>;
}
