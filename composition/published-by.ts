/** Compares the key set of a replica with the configured keys. */

import type { ReplicaAnswer } from '../adapters/cli/key-report.ts';
import { type Network, NetworkFailure } from '../application/ports/network.ts';
import { isJsonObject, type Json, member, parseStrictJson } from '../domain/tokens/strict-json.ts';

/** A replica on the same network answers at once, or is down. */
const TIMEOUT_MS = 5000;
/** The same limit as for other key sets. */
const MAX_BYTES = 256 * 1024;

/** @param server its origin @param kids that it should publish, and no others */
export async function askReplica(network: Network, server: string, kids: readonly string[]): Promise<ReplicaAnswer> {
  const published = await publishedBy(network, server);
  if ('problem' in published) return { server, published, missing: [], surplus: [] };
  return {
    server,
    published,
    missing: kids.filter((kid) => !published.includes(kid)),
    surplus: published.filter((kid) => !kids.includes(kid)),
  };
}

async function publishedBy(
  network: Network,
  server: string,
): Promise<readonly string[] | { readonly problem: string }> {
  try {
    const { status, body } = await network.send({
      method: 'GET',
      url: `${server}/.well-known/jwks.json`,
      headers: { accept: 'application/jwk-set+json, application/json' },
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
    });
    if (status !== 200) return { problem: `The answer's status was ${status}.` };
    return kidsOf(parseStrictJson(body)) ?? { problem: 'The answer is not a key set of this service.' };
  } catch (error) {
    if (!(error instanceof NetworkFailure)) throw error;
    return { problem: error.message };
  }
}

/** The characters of a `kid` of this service: none of them can control a terminal. */
const KID = /^[\x21-\x7e\u00a1-\uffff]{1,256}$/;

function kidsOf(set: Json | undefined): readonly string[] | undefined {
  const keys = isJsonObject(set) ? member(set, 'keys') : undefined;
  if (!Array.isArray(keys)) return undefined;
  const kids = keys.map((key: Json) => (isJsonObject(key) ? member(key, 'kid') : undefined));
  return kids.every((kid): kid is string => typeof kid === 'string' && KID.test(kid)) ? kids : undefined;
}
