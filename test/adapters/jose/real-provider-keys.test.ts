/** The keys of a real provider: their fetches, its outages, and what readiness says then. */

import { expect } from 'chai';
import { discovery } from '../../../adapters/identity-provider/discovery.ts';
import {
  providerKeys,
  providerKeysReadiness,
  type RefreshedProviderKeys,
} from '../../../adapters/jose/provider-keys.ts';
import { httpNetwork } from '../../../adapters/platform/http-network.ts';
import type { Network } from '../../../application/ports/network.ts';
import { type Instant, instantFromSeconds } from '../../../domain/instant.ts';
import type { Trace } from '../../../domain/trace-context.ts';
import { aTrace } from '../../support/domain-fixtures.ts';
import { fetchingForEachTest, read } from '../../support/identity-provider/fetched-keys.ts';
import { type IdentityProvider, startIdentityProvider } from '../../support/identity-provider/identity-provider.ts';

describe('The keys of a real identity provider', () => {
  const fetching = fetchingForEachTest();
  let provider: IdentityProvider;
  let keys: RefreshedProviderKeys;
  beforeEach(async () => {
    provider = await startIdentityProvider();
    keys = fetching.keysOf(provider.issuer);
  });
  afterEach(() => provider.stop());

  const verdict = (token: string) => keys.verify(read(token));
  const status = async () => (await providerKeysReadiness(keys, fetching.clock).check()).status;

  it('verify its tokens in each algorithm, and return the issuer', async () => {
    for (const alg of ['RS256', 'ES256']) {
      const token = provider.mintAccessToken({}, { alg });
      expect(await verdict(token)).to.deep.equal({ kind: 'verified', issuer: provider.issuer });
      expect(await verdict(token)).to.deep.equal({ kind: 'verified', issuer: provider.issuer });
    }
    expect(provider.jwksRequests()).to.equal(1);
  });

  it('refuse a verified token after its claims were changed', async () => {
    const token = provider.mintAccessToken();
    await verdict(token);
    const [header, claims = '', signature] = token.split('.');
    const text = Buffer.from(claims, 'base64url').toString().replace('"sub":"', '"sub":"x');
    const forged = `${header}.${Buffer.from(text).toString('base64url')}.${signature}`;
    expect(await verdict(forged)).to.deep.equal({ kind: 'invalid_signature' });
  });

  it('are fetched again after a rotation, and removed keys verify no token', async () => {
    const before = provider.mintAccessToken();
    expect((await verdict(before)).kind).to.equal('verified');
    await provider.rotateKeys();
    expect((await verdict(provider.mintAccessToken())).kind).to.equal('verified');
    // The look-up for the new token brought its key. It does not count towards the limit, but the one for this token does.
    expect(await verdict(before)).to.deep.equal({ kind: 'unknown_key' });
    expect(await verdict(before)).to.deep.equal({ kind: 'unknown_key' });
    expect(provider.jwksRequests()).to.equal(3);
  });

  it('verify a token of a former key while the provider publishes it', async () => {
    const before = provider.mintAccessToken();
    expect((await verdict(before)).kind).to.equal('verified');
    await provider.rotateKeys({ keepFormer: true });
    expect((await verdict(provider.mintAccessToken())).kind).to.equal('verified');
    expect((await verdict(before)).kind).to.equal('verified');
  });

  it('are fetched every five minutes, so that a removed key expires without an unknown kid', async () => {
    fetching.clock.standStill();
    const before = provider.mintAccessToken();
    await verdict(before);
    await provider.rotateKeys();
    fetching.clock.advance(299);
    await keys.refreshIfDue();
    expect((await verdict(before)).kind).to.equal('verified');
    fetching.clock.advance(1);
    await keys.refreshIfDue();
    expect((await verdict(before)).kind).to.equal('unknown_key');
  });

  it('are fetched again after five minutes in the trace of the request that needs them', async () => {
    const network = httpNetwork();
    const traces: (Trace | undefined)[] = [];
    const watched: Network = {
      send(request) {
        traces.push(request.trace);
        return network.send(request);
      },
    };
    keys = providerKeys(
      discovery({ kind: 'issuer', issuer: provider.issuer }, watched, fetching.log),
      watched,
      fetching.clock,
      fetching.log,
    );
    await verdict(provider.mintAccessToken());
    fetching.clock.advance(300);
    await keys.verify(read(provider.mintAccessToken()), aTrace);
    await keys.refreshIfDue();
    // Each fetch requests the metadata, then the keys.
    expect(traces).to.deep.equal([undefined, undefined, aTrace, aTrace]);
  });

  it('are kept while the provider is down, and readiness is degraded after fifteen minutes', async () => {
    await keys.refreshIfDue();
    const token = provider.mintAccessToken();
    await provider.goDown();
    fetching.clock.advance(890);
    await keys.refreshIfDue();
    expect((await verdict(token)).kind).to.equal('verified');
    expect(await status()).to.equal('Healthy');
    fetching.clock.advance(20);
    expect(await status()).to.equal('Degraded');
    expect((await verdict(token)).kind).to.equal('verified');
    await provider.comeBack();
    fetching.clock.advance(30);
    await keys.refreshIfDue();
    expect(await status()).to.equal('Healthy');
  });

  it('are unavailable for a token of a new key while the provider is down, and are there soon after its return', async () => {
    fetching.clock.standStill();
    const old = provider.mintAccessToken();
    expect((await verdict(old)).kind).to.equal('verified');
    await provider.rotateKeys({ keepFormer: true });
    expect((await verdict(provider.mintAccessToken())).kind).to.equal('verified');
    await provider.rotateKeys({ keepFormer: true });
    const newest = provider.mintAccessToken();
    await provider.goDown();
    // Four exchanges a second for 40 s.
    for (let nth = 0; nth < 160; nth += 1) {
      expect((await verdict(newest)).kind, `${nth}`).to.equal('keys_unavailable');
      expect((await verdict(old)).kind, `${nth}`).to.equal('verified');
      fetching.clock.advance(0.25);
    }
    await provider.comeBack();
    let waited = 0;
    while ((await verdict(newest)).kind === 'keys_unavailable' && waited < 5) {
      fetching.clock.advance(0.25);
      waited += 0.25;
    }
    expect((await verdict(newest)).kind).to.equal('verified');
    expect(waited).to.be.at.most(4);
  });

  it('are unavailable until the first fetch, and are fetched when the provider comes up later', async () => {
    const token = provider.mintAccessToken();
    await provider.goDown();
    expect(await verdict(token)).to.deep.equal({ kind: 'keys_unavailable' });
    expect(await status()).to.equal('Unhealthy');
    expect(keys.lastFetchedAt()).to.equal(undefined);
    await provider.comeBack();
    fetching.clock.advance(3);
    await keys.refreshIfDue();
    expect(await status()).to.equal('Healthy');
    expect(await verdict(token)).to.deep.equal({ kind: 'verified', issuer: provider.issuer });
  });

  it('are fetched at start and then regularly until a stop', async () => {
    const network = httpNetwork();
    const metadata = discovery({ kind: 'issuer', issuer: provider.issuer }, network, fetching.log);
    const looking = providerKeys(metadata, network, fetching.clock, fetching.log, 5);
    await provider.goDown();
    await looking.start();
    expect(looking.lastFetchedAt()).to.equal(undefined);
    await provider.comeBack();
    fetching.clock.advance(3);
    while (looking.lastFetchedAt() === undefined) await new Promise(setImmediate);
    looking.stop();
    expect(provider.jwksRequests()).to.equal(1);
    fetching.clock.advance(3600);
    await new Promise((resolve) => setTimeout(resolve, 25));
    expect(provider.jwksRequests()).to.equal(1);
  });
});

describe('The readiness check of the identity provider keys', () => {
  const now = instantFromSeconds(1_789_653_821);
  const statusAt = async (lastFetchedAt: Instant | undefined) =>
    (await providerKeysReadiness({ lastFetchedAt: () => lastFetchedAt }, { now: () => now }).check()).status;

  it('is unhealthy until the first fetch', async () => {
    expect(await statusAt(undefined)).to.equal('Unhealthy');
  });

  it('is healthy for fifteen minutes after a fetch, and then degraded', async () => {
    expect(await statusAt(now)).to.equal('Healthy');
    expect(await statusAt(instantFromSeconds(1_789_653_821 - 900))).to.equal('Healthy');
    expect(await statusAt(instantFromSeconds(1_789_653_821 - 900.001))).to.equal('Degraded');
    expect(await statusAt(instantFromSeconds(1_789_653_821 - 86_400))).to.equal('Degraded');
  });

  it('has the name identity_provider_keys', () => {
    expect(providerKeysReadiness({ lastFetchedAt: () => undefined }, { now: () => now }).name).to.equal(
      'identity_provider_keys',
    );
  });
});
