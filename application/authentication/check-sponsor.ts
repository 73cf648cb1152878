/**
 * Checks whether an agent may act for the person (specification "Sponsor check"). Two sources can refuse: the service's
 * own blocks and, in `poll` mode, the identity provider.
 *
 * The transaction that decides (`openTask`, `renewGrant`, `refuse`) reads the blocks again, under a lock on the person.
 * They are read here only to save a request to the provider.
 */

import type { DenialReason } from '../../domain/denial.ts';
import type { SponsorKey } from '../../domain/identifiers.ts';
import { denialOf } from '../../domain/sponsors/block.ts';
import type { Trace } from '../../domain/trace-context.ts';
import type { SponsorDirectory } from '../ports/identity-provider.ts';
import type { Sponsors } from '../ports/sponsors.ts';

export interface SponsorCheck {
  readonly sponsors: Sponsors;
  /** `undefined` in `signals` mode: the provider pushes changes and is never queried. */
  readonly directory: SponsorDirectory | undefined;
}

type SponsorReason = Extract<DenialReason, `sponsor_${string}`>;

/**
 * @param person.subject the `sub`: the provider is always queried by it, even if another claim is the sponsor key
 * @param maxAge maximum age of a cached answer in seconds; 0 queries the provider
 */
export async function checkSponsor(
  { sponsors, directory }: SponsorCheck,
  person: { readonly subject: string; readonly sponsorKey: SponsorKey },
  maxAge: number,
  trace?: Trace,
): Promise<SponsorReason | undefined> {
  if (directory === undefined) return undefined;
  const denial = denialOf(await sponsors.findBlocks(person.sponsorKey));
  if (denial !== undefined) return denial;
  const status = await directory.status(person.subject, maxAge, trace);
  return status === 'active' ? undefined : status;
}
