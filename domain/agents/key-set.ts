/** Sets of public keys (RFC 7517), and which of their keys this service can verify signatures with. */

import { commonAlgorithm } from '../tokens/compact-jws.ts';
import { isJsonObject, type Json, member, withoutNulls } from '../tokens/strict-json.ts';
import { inspectKey, type JwkSet, type KeyRules, type UsableKey } from './public-key.ts';

/** Keys of agents (supplement "Agents": keys the service can verify an assertion with). */
export const AGENT_KEY_RULES: KeyRules = {
  algorithms: ['ES256', 'PS256', 'RS256'],
  kinds: 'an EC key on P-256 or an RSA key',
};

/** Keys of tool servers that ask for approvals. */
export const APPROVAL_KEY_RULES: KeyRules = { algorithms: ['ES256'], kinds: 'an EC key on P-256' };

/** Keys of the identity provider (supplement "Subject tokens"). */
export const PROVIDER_KEY_RULES: KeyRules = {
  algorithms: ['ES256', 'ES384', 'ES512', 'EdDSA', 'PS256', 'PS384', 'PS512', 'RS256', 'RS384', 'RS512'],
  kinds: 'an EC key on P-256, P-384 or P-521, an RSA key or an Ed25519 key',
  asProvidersWrite: true,
};

/** Enough for any rotation. An assertion without a `kid` may be tried with every key of the set. */
const MAX_REGISTERED_KEYS = 16;

type JwkSetVerdict =
  | { readonly kind: 'valid'; readonly jwks: JwkSet }
  | { readonly kind: 'invalid'; readonly problems: readonly string[] };

/**
 * Judges a key set that is given as a whole, as in a registration (specification "Agent registration", rule 2): one bad
 * key makes the set invalid.
 * A problem is a fixed sentence that names the key by its index and repeats nothing from the request.
 */
export function checkJwkSet(value: Json | undefined, rules: KeyRules = AGENT_KEY_RULES): JwkSetVerdict {
  const keys = keyList(value);
  if (keys === undefined) return invalid('The key set must be an object whose member keys is an array.');
  if (keys.length === 0) return invalid('The key set must hold at least one key.');
  if (keys.length > MAX_REGISTERED_KEYS) return invalid(`The key set must hold at most ${MAX_REGISTERED_KEYS} keys.`);
  const verdicts = keys.map((key) => inspectKey(key, rules));
  const repeated = repeatedKeyIds(keys);
  const problems = verdicts.flatMap((verdict, index) => [
    ...(verdict.kind === 'unusable' ? verdict.problems.map((problem) => `keys[${index}] ${problem}.`) : []),
    ...(repeated.has(keyIdOf(keys[index])) ? [`keys[${index}] has a kid that another key has too.`] : []),
  ]);
  if (problems.length > 0) return { kind: 'invalid', problems };
  return {
    kind: 'valid',
    jwks: { keys: verdicts.flatMap((verdict) => (verdict.kind === 'usable' ? verdict.key.jwk : [])) },
  };
}

/** A fetched set of keys. */
interface FetchedKeySet {
  /** Each with its position in the set. Several keys may have one `kid`: each of them is tried. */
  readonly usable: readonly (UsableKey & { readonly index: number })[];
  /** For each other key a sentence. It names the key by its index, and repeats nothing of the key. */
  readonly unused: readonly string[];
}

/**
 * Judges each key of a fetched set; `undefined` when the value is not a key set. Keys that cannot verify, such as those
 * for encryption, are left out before anything else, so that they make no `kid` ambiguous. The size of the document
 * bounds the number of keys: none is dropped because of its position.
 */
export function readKeySet(value: Json | undefined, rules: KeyRules): FetchedKeySet | undefined {
  const keys = keyList(value);
  if (keys === undefined) return undefined;
  const verdicts = keys.map((key) => inspectKey(rules.asProvidersWrite ? commonForm(key) : key, rules));
  return {
    usable: verdicts.flatMap((verdict, index) => (verdict.kind === 'usable' ? { ...verdict.key, index } : [])),
    unused: verdicts.flatMap((verdict, index) =>
      verdict.kind === 'unusable' ? `keys[${index}] ${verdict.problems.join(', ')}.` : [],
    ),
  };
}

function commonForm(key: Json): Json {
  if (!isJsonObject(key)) return key;
  const known = withoutNulls(key);
  const algorithm = member(known, 'alg');
  return typeof algorithm === 'string' ? { ...known, alg: commonAlgorithm(algorithm) } : known;
}

function keyList(value: Json | undefined): readonly Json[] | undefined {
  const keys = isJsonObject(value) ? member(value, 'keys') : undefined;
  return Array.isArray(keys) ? keys : undefined;
}

/** Every `kid` that more than one key has. */
function repeatedKeyIds(keys: readonly Json[]): ReadonlySet<Json | undefined> {
  const ids = keys.map(keyIdOf).filter((id) => id !== undefined);
  return new Set(ids.filter((id, index) => ids.indexOf(id) !== index));
}

function keyIdOf(key: Json | undefined): Json | undefined {
  return isJsonObject(key) ? member(key, 'kid') : undefined;
}

function invalid(problem: string): JwkSetVerdict {
  return { kind: 'invalid', problems: [problem] };
}
