/** Places and lifts the operator's block of a person. Blocks of other sources stay (specification "Admin API"). */

import type { SponsorKey } from '../../domain/identifiers.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import { type LiftVerdict, liftBlock } from '../decisions/lift-block.ts';
import { type BlockVerdict, placeBlock } from '../decisions/place-block.ts';
import type { Decisions } from '../ports/decisions.ts';
import type { Clock, SharedTime } from '../ports/runtime.ts';

interface SponsorBlocking {
  readonly decisions: Decisions;
  readonly sharedTime: Pick<SharedTime, 'earliest'>;
}

interface BlockLifting extends SponsorBlocking {
  readonly clock: Clock;
  /** `Service:Operators:TwoPersonUnblock`. */
  readonly twoPersons: boolean | undefined;
}

/** The operator's block and those of other sources, and the number of ended tasks. */
export type BlockOutcome = BlockVerdict;

export async function blockSponsor(
  { decisions, sharedTime }: SponsorBlocking,
  sponsorKey: SponsorKey,
): Promise<BlockOutcome> {
  const block = { sponsorKey, source: 'admin', kind: 'disabled', blockedAt: await sharedTime.earliest() } as const;
  return decisions.decide(placeBlock, { block, reason: 'sponsor_blocked' });
}

/** The ledger records `not_owned` and `operator_is_sponsor` as refusals. */
export async function unblockSponsor(
  { decisions, clock, sharedTime, twoPersons }: BlockLifting,
  sponsorKey: SponsorKey,
): Promise<LiftVerdict> {
  const about = { at: clock.now(), event: 'sponsor.unblocked', sponsor: sponsorKey } as const;
  const entry: LedgerEntry = { ...about, decision: 'allow', reason: 'operator_unblocked' };
  const refusal: LedgerEntry = { ...about, decision: 'deny', reason: 'sponsor_block_not_owned' };
  const both = twoPersons === true ? { earliest: await sharedTime.earliest() } : undefined;
  return decisions.decide(liftBlock, { sponsorKey, source: 'admin', entry, refusal, twoPersons: both });
}
