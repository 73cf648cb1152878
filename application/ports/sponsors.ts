import type { SponsorKey } from '../../domain/identifiers.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import type { BlockSource, SponsorBlock } from '../../domain/sponsors/block.ts';
import type { RevocationReason } from '../../domain/tasks/task.ts';

export type LiftOutcome =
  /** This source's block is removed. Other sources may still block the person. */
  | 'lifted'
  | 'not_blocked'
  /** Only other sources block the person; their blocks stay. */
  | 'not_owned';

/** The blocked humans, for whom the service refuses to act. All methods may throw StorageUnavailable. */
export interface Sponsors {
  /** The person's blocks, at most one per source, oldest first. Empty if the person is not blocked. */
  findBlocks(sponsorKey: SponsorKey): Promise<readonly SponsorBlock[]>;

  /**
   * Places the block of `block.source` and ends the person's live tasks (not those whose time is up) with `reason`, in
   * one transaction. A `sponsor.blocked` entry is appended only if the block is new, and entries for each task as
   * Tasks.revokeByGrant says. Waits for running decisions about this person. An existing block of this source stays as
   * it is, and blocks of other sources never change. The tasks end in any case.
   *
   * @returns all blocks of the person, oldest first
   */
  block(
    block: SponsorBlock,
    reason: RevocationReason,
  ): Promise<{ readonly blocks: readonly SponsorBlock[]; readonly revokedTasks: number }>;

  /**
   * Lifts this source's block of a person and appends `entry`. If only other sources block the person, nothing is
   * lifted and `refusal` is appended. Ended tasks stay ended. Waits for running decisions about this person.
   */
  lift(sponsorKey: SponsorKey, source: BlockSource, entry: LedgerEntry, refusal: LedgerEntry): Promise<LiftOutcome>;
}
