import { expect } from 'chai';
import { providerKeysReadiness } from '../../../adapters/jose/provider-keys.ts';
import { type Instant, instantFromSeconds } from '../../../domain/instant.ts';

describe("readiness, as far as the identity provider's keys go", () => {
  const now = instantFromSeconds(1_789_653_821);
  const statusAt = async (lastFetchedAt: Instant | undefined) =>
    (await providerKeysReadiness({ lastFetchedAt: () => lastFetchedAt }, { now: () => now }).check()).status;

  it('is unhealthy until keys were fetched once', async () => {
    expect(await statusAt(undefined)).to.equal('Unhealthy');
  });

  it('is healthy for fifteen minutes after a fetch, and degraded from then on', async () => {
    expect(await statusAt(now)).to.equal('Healthy');
    expect(await statusAt(instantFromSeconds(1_789_653_821 - 900))).to.equal('Healthy');
    expect(await statusAt(instantFromSeconds(1_789_653_821 - 900.001))).to.equal('Degraded');
    expect(await statusAt(instantFromSeconds(1_789_653_821 - 86_400))).to.equal('Degraded');
  });

  it('has the name under which it is shown', () => {
    expect(providerKeysReadiness({ lastFetchedAt: () => undefined }, { now: () => now }).name).to.equal(
      'identity_provider_keys',
    );
  });
});
