import { generateKeyPairSync } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { isWeakModulus } from '../../../domain/agents/public-key.ts';

/** The first 126 primes. The flawed library used their product for keys of 2048 bits. */
const primes = Array.from({ length: 700 }, (_, index) => index + 2).filter(
  (candidate) => !Array.from({ length: 26 }, (_, index) => index + 2).some((d) => d < candidate && candidate % d === 0),
);
const product = primes.reduce((all, prime) => all * BigInt(prime), 1n);

function power(exponent: bigint): bigint {
  let result = 1n;
  for (let base = 65537n, left = exponent; left > 0n; left >>= 1n, base = (base * base) % product) {
    if (left % 2n === 1n) result = (result * base) % product;
  }
  return result;
}

function modulusOf(): bigint {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const { n = '' } = publicKey.export({ format: 'jwk' });
  return BigInt(`0x${Buffer.from(n, 'base64url').toString('hex')}`);
}

describe('the check for weak moduli', () => {
  it('finds a modulus of the flawed library, whatever its two primes', () => {
    const part = fc.record({ k: fc.bigInt({ min: 1n, max: 2n ** 60n }), a: fc.bigInt({ min: 1n, max: 2n ** 200n }) });
    fc.assert(
      fc.property(part, part, (p, q) => {
        const modulus = (p.k * product + power(p.a)) * (q.k * product + power(q.a));
        expect(isWeakModulus(modulus)).to.equal(true);
      }),
    );
  });

  it('accepts a random modulus', () => {
    for (let round = 0; round < 3; round += 1) expect(isWeakModulus(modulusOf())).to.equal(false);
  });

  it('finds a modulus with a small factor', () => {
    const sound = modulusOf();
    for (const factor of [2n, 3n, 5n, 17n, 701n]) expect(isWeakModulus(sound * factor), `${factor}`).to.equal(true);
    expect(primes).to.have.length(126);
  });
});
