import { expect } from 'chai';
import { calculateJwkThumbprint, createLocalJWKSet, type JWK, jwtVerify } from 'jose';
import type { SigningAlgorithm } from '../signing-key.ts';
import { makeAgentKey } from './agent-key.ts';

const issuer = 'https://mandate.test';

describe('makeAgentKey', () => {
  for (const alg of ['ES256', 'RS256', 'PS256'] satisfies SigningAlgorithm[]) {
    it(`signs assertions with ${alg} that jose verifies`, async () => {
      const key = await makeAgentKey(alg);
      const keys = createLocalJWKSet({ keys: [key.publicJwk as JWK] });
      const assertion = key.signAssertion('triage-bot', { aud: issuer, instance: 'pod-7' });
      const { payload, protectedHeader } = await jwtVerify(assertion, keys, { issuer: 'triage-bot', audience: issuer });
      expect(protectedHeader).to.deep.equal({
        alg,
        typ: 'JWT',
        kid: await calculateJwkThumbprint(key.publicJwk as JWK),
      });
      expect(payload).to.include({ sub: 'triage-bot', instance: 'pod-7' });
      expect((payload.exp ?? 0) - (payload.iat ?? 0)).to.equal(60);
    });
  }

  it('publishes no private member', async () => {
    const { jwks } = await makeAgentKey('RS256');
    expect(Object.keys(jwks.keys[0] ?? {})).to.have.members(['kty', 'n', 'e', 'alg', 'kid', 'use']);
  });

  it('replaces the given claims and header members, and removes undefined ones', async () => {
    const key = await makeAgentKey();
    const assertion = key.signAssertion(
      'triage-bot',
      { aud: issuer, exp: undefined, sub: 'other' },
      { kid: undefined },
    );
    const [header = '', payload = ''] = assertion.split('.').map((part) => Buffer.from(part, 'base64url').toString());
    expect(JSON.parse(header)).to.not.have.property('kid');
    expect(JSON.parse(payload)).to.not.have.property('exp');
    expect(JSON.parse(payload)).to.include({ iss: 'triage-bot', sub: 'other' });
  });
});
