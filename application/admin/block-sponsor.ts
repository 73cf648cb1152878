/** Places the operator's block of a person (specification "Admin API", PUT of a block). */

import type { SponsorKey } from '../../domain/identifiers.ts';
import { type BlockVerdict, placeBlock } from '../decisions/place-block.ts';
import type { Decisions } from '../ports/decisions.ts';
import type { Clock } from '../ports/runtime.ts';

export interface SponsorBlocking {
  readonly decisions: Decisions;
  readonly clock: Clock;
}

/** The operator's block and those of other sources, and the number of ended tasks. */
export type BlockOutcome = BlockVerdict;

export function blockSponsor({ decisions, clock }: SponsorBlocking, sponsorKey: SponsorKey): Promise<BlockOutcome> {
  const block = { sponsorKey, source: 'admin', kind: 'disabled', blockedAt: clock.now() } as const;
  return decisions.decide(placeBlock, { block, reason: 'sponsor_blocked' });
}
