/** Verifies agents' assertions, with keys from the registration or from its `jwks_uri`. */

import { LRUCache } from 'lru-cache';
import type { AgentKeys } from '../../application/ports/keys.ts';
import type { Network } from '../../application/ports/network.ts';
import type { Clock } from '../../application/ports/runtime.ts';
import type { Log } from '../../application/ports/telemetry.ts';
import type { Agent, AgentKeySource } from '../../domain/agents/agent.ts';
import { AGENT_KEY_RULES } from '../../domain/agents/key-set.ts';
import { inspectKey, type Jwk, type JwkSet, type UsableKey } from '../../domain/agents/public-key.ts';
import type { AgentId } from '../../domain/identifiers.ts';
import { atMost } from './cache-size.ts';
import { type FetchedKeys, fetchedKeys } from './fetched-keys.ts';
import { importKeys, type KeyRing, verifyWithRing } from './key-ring.ts';
import { type KeyAddress, type KeyWaits, keyAddress } from './key-waits.ts';
import { publishedKeys, verifyWithPublished } from './published-keys.ts';

/** More than the number of active agents. After an eviction, an agent's keys are imported or fetched again. */
const MAX_AGENTS = 10_000;
/** The rules for remote key sets of agents (supplement "Client assertions"), and of tool servers. */
export const REMOTE_KEY_SET = {
  httpsOnly: true,
  maxBytes: 64 * 1024,
  // Enough for any rotation. An assertion without a `kid` is tried with each key.
  maxKeys: 64,
} as const;
const PUBLISHED = { ...REMOTE_KEY_SET, owner: 'agent', keys: AGENT_KEY_RULES } as const;
/** In seconds. A key that its owner removed must not stay valid for long, even if the owner is inactive. */
export const REMOTE_KEY_AGES = { refreshAfter: 5 * 60, waitAfter: 15 * 60 };

interface Fetched {
  readonly ring: KeyRing;
}

interface AgentKeysOptions {
  /** The setting `Service:AgentKeys:BlockPrivateNetworks`. */
  readonly blockPrivateNetworks?: boolean;
}

export interface FetchedAgentKeys extends Pick<AgentKeys, 'isUsable'> {
  /** The keys at an endpoint, among whose callers those that need a fetch wait. */
  at(waits: KeyWaits): AgentKeys;
}

export function agentKeys(network: Network, clock: Clock, log: Log, options: AgentKeysOptions = {}): FetchedAgentKeys {
  const inline = new LRUCache<string, Promise<KeyRing>>(atMost(MAX_AGENTS));
  const remote = new LRUCache<string, FetchedKeys<Fetched>>(atMost(MAX_AGENTS));
  const described = new WeakMap<JwkSet, Promise<KeyRing>>();
  const addresses = new LRUCache<string, KeyAddress>(atMost(MAX_AGENTS));

  /** Keys in a registration are imported once for each revision. */
  function importedOnce(agent: Agent, jwks: JwkSet): Promise<KeyRing> {
    const name = `${agent.agentId} ${agent.revision}`;
    const known = inline.get(name);
    if (known !== undefined) return known;
    const ring = importKeys(jwks.keys.flatMap(judged));
    inline.set(name, ring);
    return ring;
  }

  /** Keys in a client's document are imported once for each time that the document was fetched. */
  function ringOf(agent: Agent, keys: AgentKeySource & { readonly kind: 'inline' }): Promise<KeyRing> {
    if (keys === agent.keys) return importedOnce(agent, keys.jwks);
    const ring = described.get(keys.jwks) ?? importKeys(keys.jwks.keys.flatMap(judged));
    described.set(keys.jwks, ring);
    return ring;
  }

  /**
   * Agents with the same URI share a key cache. With private networks blocked, each agent has its own: the ledger record
   * of a refused fetch names no agent, so the log must name the agent.
   */
  function fetchedFrom(uri: string, agentId: AgentId): FetchedKeys<Fetched> {
    const publicOnly = options.blockPrivateNetworks === true;
    const name = publicOnly ? `${agentId} ${uri}` : uri;
    const known = remote.get(name);
    if (known !== undefined) return known;
    const fetch = publishedKeys(network, log, { ...PUBLISHED, publicOnly, agent: agentId });
    const address = addresses.get(uri) ?? keyAddress();
    addresses.set(uri, address);
    const keys = fetchedKeys(
      async (trace) => {
        const result = await fetch(uri, trace);
        return result.kind === 'failed' ? result : { kind: 'fetched', keys: { ring: result.keys } };
      },
      clock,
      REMOTE_KEY_AGES,
      address,
    );
    remote.set(name, keys);
    return keys;
  }

  const verifying =
    (among: KeyWaits): AgentKeys['verify'] =>
    async (agent, assertion, trace, permit, published) => {
      const { algorithms } = AGENT_KEY_RULES;
      const keys = published ?? agent.keys;
      if (keys.kind === 'none') return { kind: 'no_registered_keys' };
      const { kind } =
        keys.kind === 'inline'
          ? await verifyWithRing(await ringOf(agent, keys), assertion, algorithms)
          : await verifyWithPublished(fetchedFrom(keys.uri, agent.agentId), assertion, algorithms, trace, {
              among,
              permit,
            });
      return { kind };
    };

  const isUsable: AgentKeys['isUsable'] = async (key) => (await importKeys(judged(key))).length === 1;
  return { isUsable, at: (waits) => ({ verify: verifying(waits), isUsable }) };
}

function judged(key: Jwk): readonly UsableKey[] {
  const verdict = inspectKey({ ...key }, AGENT_KEY_RULES);
  return verdict.kind === 'usable' ? [verdict.key] : [];
}
