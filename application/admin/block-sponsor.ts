/** Puts a person on the list of those who are not acted for (specification "Admin API", PUT of a block). */

import type { SponsorKey } from '../../domain/identifiers.ts';
import type { SponsorBlock } from '../../domain/sponsors/block.ts';
import type { Clock } from '../ports/clock.ts';
import type { Sponsors } from '../ports/sponsors.ts';

export interface SponsorBlocking {
  readonly sponsors: Pick<Sponsors, 'block'>;
  readonly clock: Clock;
}

export interface BlockOutcome {
  /** The block that stands now: another source's, where there was one. */
  readonly standing: SponsorBlock;
  readonly revokedTasks: number;
}

export function blockSponsor({ sponsors, clock }: SponsorBlocking, sponsorKey: SponsorKey): Promise<BlockOutcome> {
  const block = { sponsorKey, source: 'admin', kind: 'disabled', blockedAt: clock.now() } as const;
  return sponsors.block(block, 'sponsor_blocked');
}
