/** Asks a replica for its published keys, and compares them with the configured ones. */

import type { ReplicaAnswer } from '../../application/ports/keys.ts';
import { type Network, NetworkFailure, type Problem } from '../../application/ports/network.ts';
import type { Jwk } from '../../domain/agents/public-key.ts';
import { isJsonObject, type Json, member, parseStrictJson } from '../../domain/tokens/strict-json.ts';

/** The time limit for a replica's answer. A replica on the same network answers at once, or is down. */
const TIMEOUT_MS = 5000;
/** The same limit as for other key sets. */
const MAX_BYTES = 256 * 1024;

/** The id and the point of a key. Every signing key is on P-256. */
type PublishedKey = Pick<Jwk, 'kid' | 'x' | 'y'>;

/**
 * Compares the key set of a replica with the configured keys. It compares the keys and not their names, because any server
 * can publish another key under our name.
 *
 * @param server the origin of the replica @param keys the keys that the replica should publish, and no others
 */
export async function askReplica(
  network: Network,
  server: string,
  keys: readonly PublishedKey[],
): Promise<ReplicaAnswer> {
  const published = await publishedBy(network, server);
  if ('problem' in published) return { server, published, missing: [], surplus: [] };
  const without = (some: readonly PublishedKey[], others: readonly PublishedKey[]) =>
    kidsOf(some.filter((key) => !others.some((other) => isPublishedAs(key, other))));
  return {
    server,
    published: kidsOf(published),
    missing: without(keys, published),
    surplus: without(published, keys),
  };
}

function kidsOf(keys: readonly PublishedKey[]): readonly string[] {
  return keys.flatMap(({ kid }) => (kid === undefined ? [] : [kid]));
}

function isPublishedAs(one: PublishedKey, other: PublishedKey): boolean {
  return one.kid === other.kid && one.x === other.x && one.y === other.y;
}

async function publishedBy(network: Network, server: string): Promise<readonly PublishedKey[] | Problem> {
  try {
    const { status, body } = await network.send({
      method: 'GET',
      url: `${server}/.well-known/jwks.json`,
      headers: { accept: 'application/jwk-set+json, application/json' },
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
    });
    if (status !== 200) return { problem: `The answer's status was ${status}.`, status };
    return signingKeysOf(parseStrictJson(body)) ?? { problem: 'The answer is not a key set of this service.' };
  } catch (error) {
    if (!(error instanceof NetworkFailure)) throw error;
    return { problem: error.message };
  }
}

/** The characters of a `kid` of this service: none of them can control a terminal. */
const KID = /^[\x21-\x7e\u00a1-\uffff]{1,256}$/;

function signingKeysOf(set: Json | undefined): readonly PublishedKey[] | undefined {
  const keys = isJsonObject(set) ? member(set, 'keys') : undefined;
  if (!Array.isArray(keys)) return undefined;
  const read = keys.map(signingKeyOf);
  return read.every((key) => key !== undefined) ? read : undefined;
}

/** A key of another kind has no point, so it equals no configured key. */
function signingKeyOf(key: Json): PublishedKey | undefined {
  if (!isJsonObject(key)) return undefined;
  const [kid, x, y] = [member(key, 'kid'), member(key, 'x'), member(key, 'y')];
  if (typeof kid !== 'string' || !KID.test(kid)) return undefined;
  return typeof x === 'string' && typeof y === 'string' ? { kid, x, y } : { kid };
}
