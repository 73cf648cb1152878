/**
 * RSA moduli that look sound but can be factored once the flaw of the key generator is known.
 *
 * ROCA (CVE-2017-15361): the library of a widespread security chip made its primes as k·M + (65537^a mod M). M is the
 * product of the first small primes. A modulus of two such primes is itself a power of 65537 modulo M, and so
 * modulo each of those small primes. For keys of 2048 bits and more, M includes every prime up to at least 701. A
 * randomly made modulus matches this fingerprint less than once in 2^160.
 */

const GENERATOR = 65537;
const LARGEST_PRIME = 701;

/** For each odd prime, which of its residues are powers of 65537. */
const fingerprint: readonly { readonly prime: bigint; readonly powers: ReadonlySet<bigint> }[] = oddPrimes().map(
  (prime) => ({ prime: BigInt(prime), powers: powersOfGenerator(prime) }),
);

/** Whether the modulus has a small prime factor or matches the ROCA fingerprint. */
export function isWeakModulus(modulus: bigint): boolean {
  if (modulus % 2n === 0n) return true;
  const residues = fingerprint.map(({ prime, powers }) => ({ residue: modulus % prime, powers }));
  return residues.some(({ residue }) => residue === 0n) || residues.every(({ residue, powers }) => powers.has(residue));
}

function powersOfGenerator(prime: number): ReadonlySet<bigint> {
  const powers = new Set<bigint>();
  for (let power = 1; !powers.has(BigInt(power)); power = (power * GENERATOR) % prime) powers.add(BigInt(power));
  return powers;
}

function oddPrimes(): readonly number[] {
  const primes: number[] = [];
  for (let candidate = 3; candidate <= LARGEST_PRIME; candidate += 2) {
    if (primes.every((prime) => candidate % prime !== 0)) primes.push(candidate);
  }
  return primes;
}
