/** When the keys of a provider are fetched, and from where. */

import { expect } from 'chai';
import { eventually } from '../../support/eventually.ts';
import {
  documentsForEachTest,
  fetchingForEachTest,
  METADATA,
  verdictBy as verdict,
} from '../../support/identity-provider/fetched-keys.ts';
import { answering } from '../../support/loopback.ts';
import { makeSigningKey } from '../../support/signing-key.ts';

describe('The keys of an identity provider', () => {
  const fetching = fetchingForEachTest();
  const provider = documentsForEachTest();

  for (const [what, path] of [
    ['metadata', METADATA],
    ['keys', '/keys'],
  ]) {
    it(`are fetched no earlier than the Retry-After of the ${what}, at the start and later`, async () => {
      fetching.clock.standStill();
      const [former, present] = await Promise.all([makeSigningKey('ES256'), makeSigningKey('ES256')]);
      provider.publish(former.publicJwk);
      const good = provider.server.answer;
      const busy: typeof good = (request, response) => {
        if (request.path !== path) return good(request, response);
        response.writeHead(503, { 'retry-after': '20' }).end();
      };
      const keys = fetching.keysOf(provider.server.url);
      provider.server.answer = busy;
      expect(await verdict(keys, former)).to.equal('keys_unavailable');
      const asked = provider.server.received.length;
      provider.server.answer = good;
      fetching.clock.advance(19);
      await keys.refreshIfDue();
      expect(await verdict(keys, former)).to.equal('keys_unavailable');
      expect(provider.server.received).to.have.length(asked);
      fetching.clock.advance(1);
      expect(await verdict(keys, former)).to.equal('verified');
      provider.publish(former.publicJwk, present.publicJwk);
      provider.server.answer = (request, response) =>
        request.path === '/keys' ? response.destroy() : busy(request, response);
      if (path === '/keys') provider.server.answer = busy;
      expect(await verdict(keys, present)).to.equal('keys_unavailable');
      const askedLater = provider.server.received.length;
      provider.server.answer = good;
      fetching.clock.advance(19);
      expect(await verdict(keys, present)).to.equal('keys_unavailable');
      expect(provider.server.received).to.have.length(askedLater);
      fetching.clock.advance(1);
      expect(await verdict(keys, present)).to.equal('verified');
    });
  }

  it('are fetched again when a new key is published under a known kid', async () => {
    const [former, present] = await Promise.all([makeSigningKey('ES256'), makeSigningKey('ES256')]);
    provider.publish(former.publicJwk);
    const keys = fetching.keysOf(provider.server.url);
    expect(await verdict(keys, former)).to.equal('verified');
    provider.publish({ ...present.publicJwk, kid: former.kid });
    expect(await verdict(keys, { ...present, kid: former.kid })).to.equal('verified');
    expect(await verdict(keys, former)).to.equal('invalid_signature');
    const asked = provider.server.received.length;
    expect(await verdict(keys, former)).to.equal('invalid_signature');
    expect(provider.server.received).to.have.length(asked);
  });

  it('are fetched again for a token whose key was published while they were being fetched', async () => {
    const [former, present] = await Promise.all([makeSigningKey('ES256'), makeSigningKey('ES256')]);
    provider.publish(former.publicJwk);
    const keys = fetching.keysOf(provider.server.url);
    await keys.refreshIfDue();
    const answerSlowly = provider.server.answer;
    let finish: (() => void) | undefined;
    provider.server.answer = (request, response) => {
      // Composed now, and sent when the test says so.
      const body = provider.documents[request.path];
      if (request.path === '/keys' && finish === undefined) finish = () => answering(body)(request, response);
      else answerSlowly(request, response);
    };
    fetching.clock.advance(300);
    const refreshed = keys.refreshIfDue();
    await eventually(() => finish !== undefined);
    provider.publish(former.publicJwk, present.publicJwk);
    const asked = [verdict(keys, present), verdict(keys, present), verdict(keys, { ...present, kid: 'invented' })];
    await new Promise(setImmediate);
    finish?.();
    await refreshed;
    expect(await Promise.all(asked)).to.deep.equal(['verified', 'verified', 'unknown_key']);
    expect(provider.server.received.filter(({ path }) => path === '/keys')).to.have.length(3);
  });

  it('are fetched from the new jwks_uri after the metadata changed', async () => {
    const [former, present] = await Promise.all([makeSigningKey('ES256'), makeSigningKey('ES256')]);
    provider.publish(former.publicJwk);
    provider.documents['/moved'] = { keys: [present.publicJwk] };
    const keys = fetching.keysOf(provider.server.url);
    await keys.refreshIfDue();
    provider.documents[METADATA] = { issuer: provider.server.url, jwks_uri: `${provider.server.url}/moved` };
    expect(await verdict(keys, present)).to.equal('verified');
  });

  it('are fetched from the former jwks_uri while the metadata cannot be read', async () => {
    const [former, present] = await Promise.all([makeSigningKey('ES256'), makeSigningKey('ES256')]);
    provider.publish(former.publicJwk);
    const keys = fetching.keysOf(provider.server.url);
    await keys.refreshIfDue();
    provider.documents = { '/keys': { keys: [present.publicJwk] } };
    expect(await verdict(keys, present)).to.equal('verified');
  });
});
