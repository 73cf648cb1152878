import { expect } from 'chai';
import { importKeys, type KeyRing, verifyWithRing } from '../../../adapters/jose/key-ring.ts';
import { generateSigningKey } from '../../../adapters/jose/signing-key.ts';
import { readCompactJws } from '../../../domain/tokens/compact-jws.ts';
import { makeSigningKey } from '../../support/signing-key.ts';

describe('A token that names no key', () => {
  const KEYS = 4;
  let ring: KeyRing;
  before(async () => {
    const keys = await Promise.all(Array.from({ length: KEYS }, generateSigningKey));
    ring = await importKeys(keys.map(({ publicJwk }) => ({ jwk: publicJwk, algorithms: ['ES256'] })));
  });

  it('does not keep other requests waiting while each key is tried', async () => {
    const jws = readCompactJws((await makeSigningKey('ES256')).sign({ alg: 'ES256' }, { sub: 'ada' }));
    if (jws === undefined) throw new Error('malformed');
    let turns = 0;
    let isCounting = true;
    const count = (): void => {
      turns += 1;
      if (isCounting) setImmediate(count);
    };
    setImmediate(count);
    expect(await verifyWithRing(ring, jws, ['ES256'])).to.deep.equal({ kind: 'invalid_signature' });
    isCounting = false;
    expect(turns).to.be.at.least(KEYS - 1);
  });
});
