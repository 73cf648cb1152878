/** Those whose signatures the service trusts, asked by the adapters that the service asks them with. */

import { discovery, type ProviderLocation } from '../../adapters/identity-provider/discovery.ts';
import { providerKeys } from '../../adapters/jose/provider-keys.ts';
import { heardLog } from '../../application/doctor/heard.ts';
import { type ObservedNetwork, observedNetwork } from '../../application/doctor/observed-network.ts';
import type { Signer } from '../../application/doctor/provider-examinations.ts';
import type { Clock } from '../../application/ports/clock.ts';
import type { ProviderKeys } from '../../application/ports/keys.ts';
import type { Network } from '../../application/ports/network.ts';
import type { ProviderDescription, ProviderMetadata } from '../../application/ports/provider-metadata.ts';

/** What all that is asked over the network has in common. */
export interface Asking {
  readonly network: Network;
  readonly clock: Clock;
  /** Milliseconds for everything together. */
  readonly limitMs: number;
}

export interface AskedSigner extends Signer {
  readonly keys: ProviderKeys;
  readonly provider: ProviderMetadata;
}

export function askedSigner(location: ProviderLocation, asking: Asking): AskedSigner {
  const { clock, limitMs } = asking;
  const network: ObservedNetwork = observedNetwork(asking.network, clock, limitMs);
  const heard = heardLog();
  const provider = discovery(location, network, heard);
  const owner = location.kind === 'transmitter' ? 'transmitter' : 'identity provider';
  const keys = providerKeys(provider, network, clock, heard, undefined, owner);
  let reading: Promise<ProviderDescription | undefined> | undefined;
  const metadata = (): Promise<ProviderDescription | undefined> => {
    reading ??= provider.refresh();
    return reading;
  };
  return {
    address: location.kind === 'metadata_url' ? location.url : location.issuer,
    metadata,
    async fetchKeys() {
      await metadata();
      await keys.refreshIfDue();
      return keys.lastFetchedAt() !== undefined;
    },
    problem: () => ({ sentence: heard.problem(), status: network.lastStatus('') }),
    ahead: () => network.ahead(''),
    keys,
    provider,
  };
}
