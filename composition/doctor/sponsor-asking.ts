/** How the identity provider is asked about people, as the service does it. */

import { randomUUID } from 'node:crypto';
import { polledSponsors } from '../../adapters/identity-provider/polled-sponsors.ts';
import { serviceAssertion } from '../../adapters/identity-provider/service-assertion.ts';
import { serviceTokens } from '../../adapters/identity-provider/service-token.ts';
import { systemRandomness } from '../../adapters/system/system-randomness.ts';
import { heardLog } from '../../application/doctor/heard.ts';
import { observedNetwork } from '../../application/doctor/observed-network.ts';
import type { SponsorAsking } from '../../application/doctor/sponsor-examination.ts';
import type { SigningKeys } from '../../application/ports/keys.ts';
import type { SponsorCheckChoice } from '../settings/alternatives.ts';
import type { AskedSigner, Asking } from './signers.ts';

export function sponsorAsking(
  chosen: SponsorCheckChoice & { readonly mode: 'poll' },
  signingKeys: SigningKeys,
  { provider, metadata }: Pick<AskedSigner, 'provider' | 'metadata'>,
  asking: Asking,
): SponsorAsking {
  const { clock } = asking;
  const network = observedNetwork(asking.network, clock, asking.limitMs);
  const heard = heardLog();
  const assertion = serviceAssertion(signingKeys, clock, systemRandomness());
  const tokens = serviceTokens(chosen, { network, clock, metadata: provider, assertion });
  return {
    metadata,
    async token() {
      const answer = await tokens.current();
      return answer.kind === 'token' ? undefined : answer.problem;
    },
    directory: polledSponsors(chosen.usersUrl, { network, clock, log: heard, tokens }),
    nobody: randomUUID(),
    problem: () => ({ sentence: heard.problem(), status: network.lastStatus(chosen.usersUrl) }),
    tokenStatus: () => network.lastStatus(chosen.tokenUrl),
  };
}
