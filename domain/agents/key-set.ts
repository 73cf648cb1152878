/** Public keys (RFC 7517) and which of them this service can verify a signature with. */

import { isJsonObject, type Json, member } from '../tokens/strict-json.ts';
import type { JwkSet } from './jwk.ts';
import { inspectKey, type KeyRules, type UsableKey } from './public-key.ts';

/** Keys of agents (decisions "Agents": keys the service can verify an assertion with). */
export const AGENT_KEY_RULES: KeyRules = {
  algorithms: ['ES256', 'PS256', 'RS256'],
  kinds: 'an EC key on P-256 or an RSA key',
};

/** Keys of the identity provider (decisions "Subject tokens"). */
export const PROVIDER_KEY_RULES: KeyRules = {
  algorithms: ['ES256', 'ES384', 'ES512', 'EdDSA', 'PS256', 'PS384', 'PS512', 'RS256', 'RS384', 'RS512'],
  kinds: 'an EC key on P-256, P-384 or P-521, an RSA key or an Ed25519 key',
};

/** Enough for any rotation; every key of a set may have to be tried on an assertion without a `kid`. */
const MAX_REGISTERED_KEYS = 16;
/** No provider publishes as many; importing them all stays a matter of milliseconds. */
const MAX_FETCHED_KEYS = 64;

export type JwkSetVerdict =
  | { readonly kind: 'valid'; readonly jwks: JwkSet }
  | { readonly kind: 'invalid'; readonly problems: readonly string[] };

/**
 * Judges the key set of a registration (specification "Agent registration", rule 2): one bad key spoils it. A problem
 * is a fixed sentence that names the key by its index and holds nothing of what was sent.
 */
export function checkJwkSet(value: Json | undefined): JwkSetVerdict {
  const keys = keyList(value);
  if (keys === undefined) return invalid('The key set must be an object whose member keys is an array.');
  if (keys.length === 0) return invalid('The key set must hold at least one key.');
  if (keys.length > MAX_REGISTERED_KEYS) return invalid(`The key set must hold at most ${MAX_REGISTERED_KEYS} keys.`);
  const verdicts = keys.map((key) => inspectKey(key, AGENT_KEY_RULES));
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

/**
 * The keys of a fetched set that can be used; `undefined` when it is no key set at all. Other people's sets hold other
 * keys too, for encryption say: those are passed over. Of two keys with one `kid` neither is used, since nobody could
 * say which of them a token means.
 */
export function usableKeys(value: Json | undefined, rules: KeyRules): readonly UsableKey[] | undefined {
  const keys = keyList(value);
  if (keys === undefined) return undefined;
  const repeated = repeatedKeyIds(keys);
  return keys
    .filter((key) => !repeated.has(keyIdOf(key)))
    .flatMap((key) => {
      const verdict = inspectKey(key, rules);
      return verdict.kind === 'usable' ? verdict.key : [];
    })
    .slice(0, MAX_FETCHED_KEYS);
}

function keyList(value: Json | undefined): readonly Json[] | undefined {
  const keys = isJsonObject(value) ? member(value, 'keys') : undefined;
  return Array.isArray(keys) ? keys : undefined;
}

/** The `kid`s that more than one key has; a key without one is never among them. */
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
