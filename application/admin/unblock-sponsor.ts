/** Lifts the operator's block of a person, and no other source's (specification "Admin API", DELETE of a block). */

import type { SponsorKey } from '../../domain/identifiers.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import type { Clock } from '../ports/runtime.ts';
import type { LiftOutcome, Sponsors } from '../ports/sponsors.ts';

export interface SponsorUnblocking {
  readonly sponsors: Pick<Sponsors, 'lift'>;
  readonly clock: Clock;
}

/** `not_owned` is recorded as a refusal. */
export function unblockSponsor({ sponsors, clock }: SponsorUnblocking, sponsorKey: SponsorKey): Promise<LiftOutcome> {
  const about = { at: clock.now(), event: 'sponsor.unblocked', sponsor: sponsorKey } as const;
  const entry: LedgerEntry = { ...about, decision: 'allow', reason: 'operator_unblocked' };
  const refusal: LedgerEntry = { ...about, decision: 'deny', reason: 'sponsor_block_not_owned' };
  return sponsors.lift(sponsorKey, 'admin', entry, refusal);
}
