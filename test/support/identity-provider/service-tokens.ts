/** Service tokens from an endpoint of a test, on a clock that only the test moves. */

import {
  type ServiceClient,
  type ServiceTokens,
  serviceAssertion,
  serviceTokens,
} from '../../../adapters/identity-provider/service-token.ts';
import { generateSigningKey } from '../../../adapters/jose/signing-key.ts';
import { signingKeys } from '../../../adapters/jose/signing-keys.ts';
import { httpNetwork } from '../../../adapters/platform/http-network.ts';
import { systemRandomness } from '../../../adapters/platform/system-crypto.ts';
import type { ProviderMetadata } from '../../../application/ports/identity-provider.ts';
import type { SigningKeys } from '../../../application/ports/keys.ts';
import type { Trace } from '../../../domain/trace-context.ts';
import { type MovedClock, movedClock } from '../moved-clock.ts';

export function serviceTokensForSuite() {
  let keys: SigningKeys;
  let clock: MovedClock;
  before(async () => {
    const key = await generateSigningKey();
    const chosen = await signingKeys([key], undefined);
    if (chosen.kind !== 'chosen') throw new Error(chosen.kind);
    keys = chosen.signingKeys;
  });
  beforeEach(() => {
    clock = movedClock();
    clock.standStill();
  });

  function tokensFrom(
    tokenUrl: string,
    issuer: string | undefined,
    asked: (trace: Trace | undefined) => void = () => undefined,
    changes: Partial<ServiceClient> = {},
  ): ServiceTokens {
    const provider = issuer === undefined ? undefined : { issuer, jwksUri: `${issuer}/keys` };
    const metadata: Pick<ProviderMetadata, 'current'> = {
      async current(trace) {
        asked(trace);
        return provider;
      },
    };
    return serviceTokens(
      { tokenUrl, clientId: 'mandate-service', scope: undefined, assertionAudience: 'issuer', ...changes },
      { network: httpNetwork(), clock, metadata, assertion: serviceAssertion(keys, clock, systemRandomness()) },
    );
  }

  return {
    get keys() {
      return keys;
    },
    get clock() {
      return clock;
    },
    makeAssertion: () => serviceAssertion(keys, clock, systemRandomness()),
    tokensFrom,
  };
}
