/** The assertion by which the service authenticates, also at a real provider. */

import { expect } from 'chai';
import type { JWK } from 'oidc-provider';
import { readCompactJws } from '../../../domain/tokens/compact-jws.ts';
import { memoryStorage } from '../../support/identity-provider/memory-storage.ts';
import { providerLibrary } from '../../support/identity-provider/provider-library.ts';
import { serviceTokensForSuite } from '../../support/identity-provider/service-tokens.ts';
import { answering, startLoopback } from '../../support/loopback.ts';
import { makeSigningKey } from '../../support/signing-key.ts';

const service = serviceTokensForSuite();

describe('The client assertion of the service', () => {
  it('has one audience, no nbf, an iat in the past, a lifetime of 60 s and a unique jti', async () => {
    const make = service.makeAssertion();
    const [first, second] = [await make('mandate-service', 'https://idp.example'), await make('x', 'y')];
    const jws = readCompactJws(first);
    const now = service.clock.seconds();
    if (jws === undefined) throw new Error('malformed');
    const { iat, exp, jti, ...rest } = jws.claims.json;
    expect(rest).to.deep.equal({ iss: 'mandate-service', sub: 'mandate-service', aud: 'https://idp.example' });
    expect(iat).to.be.within(now - 6, now - 5);
    expect(Number(exp) - Number(iat)).to.equal(60);
    expect(jti).to.match(/^[A-Za-z0-9_-]{22}$/);
    expect(readCompactJws(second)?.claims.tokenId).not.to.equal(jti);
    expect(jws).to.include({ algorithm: 'ES256', type: 'JWT', keyId: service.keys.published().keys[0]?.kid });
  });
});

describe('The service token', () => {
  it('is issued by a real provider that has the published keys', async () => {
    const { Provider } = await providerLibrary();
    const host = await startLoopback(answering({}));
    const provider = new Provider(host.url, {
      adapter: memoryStorage(),
      jwks: { keys: [(await makeSigningKey('RS256')).privateJwk as JWK] },
      ttl: { ClientCredentials: 120 },
      clients: [
        {
          client_id: 'mandate-service',
          grant_types: ['client_credentials'],
          redirect_uris: [],
          response_types: [],
          token_endpoint_auth_method: 'private_key_jwt',
          token_endpoint_auth_signing_alg: 'ES256',
          jwks: { keys: service.keys.published().keys.map((key) => ({ ...key, key_ops: ['verify'] })) },
        },
      ],
      features: { clientCredentials: { enabled: true }, devInteractions: { enabled: false } },
    });
    await host.close();
    const running = provider.listen(Number(new URL(host.url).port), '127.0.0.1');
    try {
      const current = await service.tokensFrom(`${host.url}/token`, host.url).current();
      expect(current.kind).to.equal('token');
    } finally {
      running.close();
      running.closeAllConnections();
    }
  });
});
