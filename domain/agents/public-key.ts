/** One public key (RFC 7517 §4, RFC 7518 §6), and whether a signature can safely be verified with it. */

import { decodeCanonical, MAX_KEY_ID } from '../tokens/canonical-base64url.ts';
import { isJsonObject, isTextList, type Json, type JsonObject, member } from '../tokens/strict-json.ts';

/** A public JSON Web Key. Members that are not listed here are kept unchanged. */
export interface Jwk {
  readonly kty: string;
  readonly kid?: string;
  readonly use?: string;
  readonly alg?: string;
  readonly key_ops?: readonly string[];
  readonly crv?: string;
  readonly x?: string;
  readonly y?: string;
  readonly n?: string;
  readonly e?: string;
}

export interface JwkSet {
  readonly keys: readonly Jwk[];
}

/** The asymmetric signature algorithms of RFC 7518 §3.1 and RFC 8037 §3.1. */
export type SignatureAlgorithm =
  | 'ES256'
  | 'ES384'
  | 'ES512'
  | 'EdDSA'
  | 'PS256'
  | 'PS384'
  | 'PS512'
  | 'RS256'
  | 'RS384'
  | 'RS512';

/** The algorithms that a surface accepts. */
export interface KeyRules {
  readonly algorithms: readonly SignatureAlgorithm[];
  /** The accepted kinds of key in words, for the error sentence. */
  readonly kinds: string;
  /** Reads a key as providers write it: a null member is an absent one, and the alg `Ed25519` is `EdDSA`. */
  readonly asProvidersWrite?: boolean;
}

/** A key that passed the inspection, and the accepted algorithms that it may be used with. */
export interface UsableKey {
  readonly jwk: Jwk;
  readonly algorithms: readonly SignatureAlgorithm[];
}

/** Members that hold a secret (RFC 7518 §6.2.2, §6.3.2, §6.4.1). */
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k', 'oth'];
const TEXT_MEMBERS = ['kid', 'use', 'alg', 'crv', 'x', 'y', 'n', 'e'];

/** Smaller moduli can be factored (RFC 7518 §3.3); a larger one makes a verification too expensive. */
const MIN_MODULUS_BITS = 2048;
const MAX_MODULUS_BITS = 8192;
/** Smaller exponents have allowed forgeries; OpenSSL refuses exponents of more than 64 bits. */
const MIN_EXPONENT = 65537n;
const MAX_EXPONENT = 2n ** 64n - 1n;

interface KeyKind {
  readonly algorithms: readonly SignatureAlgorithm[];
  problems(key: JsonObject): readonly string[];
}

const RSA: KeyKind = {
  algorithms: ['PS256', 'PS384', 'PS512', 'RS256', 'RS384', 'RS512'],
  problems: (key) => [...modulusProblems(member(key, 'n')), ...exponentProblems(member(key, 'e'))],
};
const CURVES: ReadonlyMap<string, KeyKind> = new Map([
  ['EC P-256', curve('ES256', 32, ['x', 'y'])],
  ['EC P-384', curve('ES384', 48, ['x', 'y'])],
  ['EC P-521', curve('ES512', 66, ['x', 'y'])],
  ['OKP Ed25519', curve('EdDSA', 32, ['x'])],
]);

/**
 * Finds the accepted algorithms in which the key can safely verify a signature. This checks only the structure:
 * importing the key checks that its point lies on the curve. Each problem is worded to follow the key's name, and
 * repeats nothing of the key.
 */
export function inspectKey(
  value: Json | undefined,
  rules: KeyRules,
): { readonly kind: 'usable'; readonly key: UsableKey } | { readonly kind: 'unusable'; readonly problems: string[] } {
  if (!isJsonObject(value)) return { kind: 'unusable', problems: ['must be an object'] };
  const kind = kindOf(value);
  const possible = kind?.algorithms.filter((algorithm) => rules.algorithms.includes(algorithm)) ?? [];
  const problems = PRIVATE_MEMBERS.some((name) => Object.hasOwn(value, name)) ? ['carries a private member'] : [];
  if (kind === undefined || possible.length === 0) problems.push(`must be ${rules.kinds}`);
  else problems.push(...kind.problems(value), ...algorithmProblems(member(value, 'alg'), possible));
  problems.push(...purposeProblems(value), ...keyIdProblems(member(value, 'kid')));
  if (problems.length > 0) return { kind: 'unusable', problems };
  if (!isJwk(value)) return { kind: 'unusable', problems: ['must have strings for crv, x, y, n and e'] };
  const algorithms = possible.filter((algorithm) => value.alg === undefined || value.alg === algorithm);
  return { kind: 'usable', key: { jwk: value, algorithms } };
}

function kindOf(key: JsonObject): KeyKind | undefined {
  const type = member(key, 'kty');
  const crv = member(key, 'crv');
  if (type === 'RSA') return RSA;
  return typeof type === 'string' && typeof crv === 'string' ? CURVES.get(`${type} ${crv}`) : undefined;
}

function curve(algorithm: SignatureAlgorithm, bytes: number, coordinates: readonly string[]): KeyKind {
  return {
    algorithms: [algorithm],
    problems: (key) =>
      coordinates
        .filter((name) => octets(member(key, name))?.length !== bytes)
        .map((name) => `must have exactly ${bytes} bytes in base64url for its ${name}`),
  };
}

function modulusProblems(value: Json | undefined): readonly string[] {
  const modulus = integer(value);
  if (modulus === undefined) return ['must have an n in base64url'];
  // Leading zero octets do not count: they do not make factoring harder.
  const bits = modulus.toString(2).length;
  if (bits < MIN_MODULUS_BITS || bits > MAX_MODULUS_BITS) {
    return [`must have a modulus of ${MIN_MODULUS_BITS} to ${MAX_MODULUS_BITS} bits`];
  }
  return isWeakModulus(modulus) ? ['has a modulus that is known to be weak'] : [];
}

function exponentProblems(value: Json | undefined): readonly string[] {
  const exponent = integer(value);
  const sound = exponent !== undefined && exponent % 2n === 1n && exponent >= MIN_EXPONENT && exponent <= MAX_EXPONENT;
  return sound ? [] : ['must have an odd e of at least 65537, of at most 64 bits, in base64url'];
}

function algorithmProblems(value: Json | undefined, possible: readonly string[]): readonly string[] {
  const fits = value === undefined || (typeof value === 'string' && possible.includes(value));
  return fits ? [] : [`must have no alg but ${possible.join(' or ')}`];
}

/** RFC 7517 §4.2, §4.3. */
function purposeProblems(key: JsonObject): readonly string[] {
  const use = member(key, 'use');
  const operations = member(key, 'key_ops');
  const verifies =
    operations === undefined ||
    (isTextList(operations) && operations.includes('verify') && new Set(operations).size === operations.length);
  return [
    ...(use === undefined || use === 'sig' ? [] : ['must have no use but sig']),
    ...(verifies ? [] : ['must have no key_ops, or a list without repetitions that includes verify']),
  ];
}

function keyIdProblems(value: Json | undefined): readonly string[] {
  const sound =
    value === undefined ||
    (typeof value === 'string' && value.length >= 1 && value.length <= MAX_KEY_ID && value.isWellFormed());
  return sound ? [] : [`must have no kid, or one of 1 to ${MAX_KEY_ID} characters`];
}

/** A positive integer (RFC 7518 §2, Base64urlUInt). */
function integer(value: Json | undefined): bigint | undefined {
  const bytes = octets(value);
  return bytes === undefined ? undefined : BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
}

function octets(value: Json | undefined): Uint8Array | undefined {
  return typeof value === 'string' ? decodeCanonical(value) : undefined;
}

function isJwk(key: JsonObject): key is JsonObject & Jwk {
  return (
    typeof member(key, 'kty') === 'string' &&
    TEXT_MEMBERS.every((name) => !Object.hasOwn(key, name) || typeof key[name] === 'string') &&
    (!Object.hasOwn(key, 'key_ops') || isTextList(key.key_ops))
  );
}

/**
 * ROCA (CVE-2017-15361): the library of a widespread security chip made its primes as k·M + (65537^a mod M). M is the
 * product of the first small primes. A modulus of two such primes is itself a power of 65537 modulo M, and so modulo each
 * of those small primes. For keys of 2048 bits and more, M includes every prime up to at least 701. A randomly made
 * modulus matches this fingerprint less than once in 2^160.
 */
const GENERATOR = 65537;
const LARGEST_PRIME = 701;

/** For each odd prime, the residues that are powers of 65537. */
const fingerprint: readonly { readonly prime: bigint; readonly powers: ReadonlySet<number> }[] = oddPrimes().map(
  (prime) => ({ prime: BigInt(prime), powers: powersOfGenerator(prime) }),
);

/** Whether the modulus can be factored although it looks sound: it has a small prime factor or matches the ROCA fingerprint. */
export function isWeakModulus(modulus: bigint): boolean {
  if (modulus % 2n === 0n) return true;
  const residues = fingerprint.map(({ prime, powers }) => ({ residue: Number(modulus % prime), powers }));
  return residues.some(({ residue }) => residue === 0) || residues.every(({ residue, powers }) => powers.has(residue));
}

function powersOfGenerator(prime: number): ReadonlySet<number> {
  const powers = new Set<number>();
  for (let power = 1; !powers.has(power); power = (power * GENERATOR) % prime) powers.add(power);
  return powers;
}

function oddPrimes(): readonly number[] {
  const primes: number[] = [];
  for (let candidate = 3; candidate <= LARGEST_PRIME; candidate += 2) {
    if (primes.every((prime) => candidate % prime !== 0)) primes.push(candidate);
  }
  return primes;
}
