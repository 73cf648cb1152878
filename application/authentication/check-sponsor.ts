/**
 * May the person be acted for (specification "Sponsor check")? Two sources, cumulative: the service's own list of
 * blocks, and in `poll` mode the identity provider.
 *
 * The list that counts is read by the transaction that decides (Tasks.open, Tasks.renew, Ledger.refuse), under a lock
 * on the person. Here it is read only to spare the provider a question whose answer can't matter.
 */

import type { DenialReason } from '../../domain/denial.ts';
import type { SponsorKey } from '../../domain/identifiers.ts';
import { denialOf } from '../../domain/sponsors/block.ts';
import type { SponsorDirectory } from '../ports/sponsor-directory.ts';
import type { Sponsors } from '../ports/sponsors.ts';

export interface SponsorCheck {
  readonly sponsors: Sponsors;
  /** `undefined` in `signals` mode: the provider tells us, and is not asked. */
  readonly directory: SponsorDirectory | undefined;
}

type SponsorReason = Extract<DenialReason, `sponsor_${string}`>;

/**
 * @param person.subject the provider is asked by `sub`, whatever the sponsor key claim is
 * @param maxAge seconds; 0 asks as of now
 */
export async function checkSponsor(
  { sponsors, directory }: SponsorCheck,
  person: { readonly subject: string; readonly sponsorKey: SponsorKey },
  maxAge: number,
): Promise<SponsorReason | undefined> {
  if (directory === undefined) return undefined;
  const denial = denialOf(await sponsors.findBlocks(person.sponsorKey));
  if (denial !== undefined) return denial;
  const status = await directory.status(person.subject, maxAge);
  return status === 'active' ? undefined : status;
}
