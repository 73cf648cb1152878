import type { SponsorKey } from '../../domain/identifiers.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import type { BlockSource, SponsorBlock } from '../../domain/sponsors/block.ts';
import type { RevocationReason } from '../../domain/tasks/task.ts';

export type LiftOutcome =
  | 'lifted'
  | 'not_blocked'
  /** The block that stands is another source's, and goes on standing. */
  | 'not_owned';

/** The humans this service will not act for. All methods may throw StorageUnavailable. */
export interface Sponsors {
  findBlock(sponsorKey: SponsorKey): Promise<SponsorBlock | undefined>;

  /**
   * Places a block and ends the person's live tasks (not those whose time is up) with `reason`, in one transaction with a `sponsor.blocked` entry
   * (only when the block is new) and, per task, what Tasks.revokeByGrant says. Waits for decisions about this person
   * that are under way. A block that stands is left as it is, whoever placed it; the tasks end all the same.
   */
  block(
    block: SponsorBlock,
    reason: RevocationReason,
  ): Promise<{ readonly standing: SponsorBlock; readonly revokedTasks: number }>;

  /**
   * Lifts a person's block if this source placed it, and appends `entry`; where another did, nothing is lifted and
   * `refusal` is appended. No task comes back. Waits for decisions about this person that are under way.
   */
  lift(sponsorKey: SponsorKey, source: BlockSource, entry: LedgerEntry, refusal: LedgerEntry): Promise<LiftOutcome>;
}
