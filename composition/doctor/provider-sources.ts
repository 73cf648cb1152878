/** The doctor's questions to identity providers and other signers, asked through the service's own adapters. */

import { type ProviderLocation, readMetadata } from '../../adapters/identity-provider/discovery.ts';
import { fixedToken, serviceAssertion, serviceTokens } from '../../adapters/identity-provider/service-token.ts';
import type { SignInClient } from '../../adapters/identity-provider/sign-in-client.ts';
import type { UsersService } from '../../adapters/identity-provider/users-service.ts';
import { readProviderKeys } from '../../adapters/jose/provider-keys.ts';
import { httpNetwork } from '../../adapters/platform/http-network.ts';
import { limitedNetwork } from '../../adapters/platform/limited-network.ts';
import { systemRandomness } from '../../adapters/platform/system-crypto.ts';
import { EXAMINATION_LIMIT_MS } from '../../application/doctor/examine.ts';
import type { Signer } from '../../application/doctor/provider.ts';
import type { ClientTrial, ProviderMetadata } from '../../application/ports/identity-provider.ts';
import type { SigningKeys } from '../../application/ports/keys.ts';
import type { Network } from '../../application/ports/network.ts';
import type { Clock } from '../../application/ports/runtime.ts';
import { secondsAheadByDate } from '../../domain/clocks.ts';
import type { JsonObject } from '../../domain/tokens/strict-json.ts';
import type { SponsorCheckChoice } from '../settings/alternatives.ts';

/** How the doctor sends requests to other servers. */
export interface NetworkAccess {
  readonly network: Network;
  readonly clock: Clock;
}

/** Shorter than the examination's own limit: the finding can then still name the request that did not end. */
const NETWORK_LIMIT_MS = EXAMINATION_LIMIT_MS - 500;

/** For examinations that begin now. */
export function networkAccess(clock: Clock): NetworkAccess {
  return { network: limitedNetwork(httpNetwork(), clock, NETWORK_LIMIT_MS), clock };
}

/** The returned function asks once, for all examinations: what the first one asks counts. */
export function askedOnce<Answer, Asked extends readonly unknown[]>(
  ask: (...asked: Asked) => Promise<Answer>,
): (...asked: Asked) => Promise<Answer> {
  let asking: Promise<Answer> | undefined;
  return (...asked) => {
    asking ??= ask(...asked);
    return asking;
  };
}

export function signerAt(location: ProviderLocation, { network, clock }: NetworkAccess): Signer {
  const owner = location.kind === 'transmitter' ? 'transmitter' : 'identity provider';
  return {
    address: location.kind === 'metadata_url' ? location.url : location.issuer,
    metadata: askedOnce(async () => {
      const sentAt = clock.now();
      const answer = await readMetadata(location, network);
      const { date } = answer;
      return { ...answer, ahead: date === undefined ? undefined : secondsAheadByDate(sentAt, date, clock.now()) };
    }),
    readKeys: (jwksUri) => readProviderKeys(jwksUri, network, owner),
  };
}

export type PolledChoice = SponsorCheckChoice & { readonly mode: 'poll' };

/** The provider's users, and the service's access to them. */
export function usersService(
  { usersUrl, access }: PolledChoice,
  signingKeys: SigningKeys,
  metadata: Pick<ProviderMetadata, 'current'>,
  { network, clock }: NetworkAccess,
): UsersService {
  const assertion = serviceAssertion(signingKeys, clock, systemRandomness());
  const tokens =
    'bearerToken' in access
      ? fixedToken(access.bearerToken)
      : serviceTokens(access, { network, clock, metadata, assertion });
  return { usersUrl, network, clock, tokens };
}

/** Tries the client of a sign-in with the service's own adapters, whose code is loaded only with that client. */
export async function clientTrial(
  client: SignInClient,
  { document, isPlain }: { readonly document: JsonObject; readonly isPlain: boolean },
  signingKeys: SigningKeys | undefined,
  { network, clock }: NetworkAccess,
): Promise<ClientTrial | 'no_key'> {
  if (client.clientSecret === undefined && signingKeys === undefined) return 'no_key';
  const { tryClient } = await import('../../adapters/identity-provider/client-trial.ts');
  const randomness = systemRandomness();
  const assertion = signingKeys === undefined ? async () => '' : serviceAssertion(signingKeys, clock, randomness);
  return tryClient(client, document, { network, assertion, randomness, isPlain });
}
