import type { SponsorKey } from '../../domain/identifiers.ts';
import type { SponsorBlock } from '../../domain/sponsors/block.ts';
import type { RevocationReason } from '../../domain/tasks/task.ts';

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
}
