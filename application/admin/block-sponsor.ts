/** Places the operator's block of a person (specification "Admin API", PUT of a block). */

import type { SponsorKey } from '../../domain/identifiers.ts';
import type { SponsorBlock } from '../../domain/sponsors/block.ts';
import type { Clock } from '../ports/runtime.ts';
import type { Sponsors } from '../ports/sponsors.ts';

export interface SponsorBlocking {
  readonly sponsors: Pick<Sponsors, 'block'>;
  readonly clock: Clock;
}

export interface BlockOutcome {
  /** The operator's block and those of other sources, oldest first. */
  readonly blocks: readonly SponsorBlock[];
  readonly revokedTasks: number;
}

export function blockSponsor({ sponsors, clock }: SponsorBlocking, sponsorKey: SponsorKey): Promise<BlockOutcome> {
  const block = { sponsorKey, source: 'admin', kind: 'disabled', blockedAt: clock.now() } as const;
  return sponsors.block(block, 'sponsor_blocked');
}
