/** Verifies requests for approvals, with the configured keys of tool servers or those from their `JwksUri`. */

import type { ApprovalKeys } from '../../application/ports/keys.ts';
import type { Network } from '../../application/ports/network.ts';
import type { Clock, ReadinessCheck } from '../../application/ports/runtime.ts';
import type { Log } from '../../application/ports/telemetry.ts';
import { APPROVAL_KEY_RULES, readKeySet } from '../../domain/agents/key-set.ts';
import type { JwkSet } from '../../domain/agents/public-key.ts';
import { REMOTE_KEY_AGES, REMOTE_KEY_SET } from './agent-keys.ts';
import { type FetchedKeys, fetchedKeys, isStale } from './fetched-keys.ts';
import { importKeys, type KeyRing, verifyWithRing } from './key-ring.ts';
import { strangersWait } from './key-waits.ts';
import { type PublishedKeysRules, publishedKeys, verifyWithPublished } from './published-keys.ts';

/** A tool server that may ask, and where its keys are. */
export interface AskingResource {
  readonly audience: string;
  readonly keys: { readonly kind: 'inline'; readonly jwks: JwkSet } | { readonly kind: 'remote'; readonly uri: string };
}

/** As those of an agent. */
export const TOOL_SERVER_KEY_SET: PublishedKeysRules = {
  ...REMOTE_KEY_SET,
  owner: 'tool server',
  keys: APPROVAL_KEY_RULES,
};

export interface FetchedApprovalKeys extends ApprovalKeys {
  /** Fetches the keys, so that the first request need not wait. */
  start(): Promise<void>;
  /** The check `approval_keys` of `/readyz`; `undefined` if no key set has to be fetched. */
  readonly readiness: ReadinessCheck | undefined;
}

type Source =
  | { readonly kind: 'inline'; readonly ring: Promise<KeyRing> }
  | { readonly kind: 'remote'; readonly keys: RemoteKeys };

export function approvalKeys(
  resources: readonly AskingResource[],
  network: Network,
  clock: Clock,
  log: Log,
): FetchedApprovalKeys {
  // Tool servers with one address share its keys, and who waits for them.
  const fetched = new Map<string, Source>();
  const sources = new Map(
    resources.map(({ audience, keys }) => {
      const name = keys.kind === 'remote' ? keys.uri : audience;
      const source = (keys.kind === 'remote' ? fetched.get(name) : undefined) ?? sourceOf(keys, network, clock, log);
      if (keys.kind === 'remote') fetched.set(name, source);
      return [audience, source];
    }),
  );
  const remote = [...sources.values()].flatMap((source) => (source.kind === 'remote' ? [source.keys] : []));
  const { algorithms } = APPROVAL_KEY_RULES;
  // An agent can forge requests.
  const among = strangersWait();
  return {
    async verify(audience, request, trace, permit) {
      const source = sources.get(audience);
      if (source === undefined) return { kind: 'unknown_issuer' };
      const { kind } =
        source.kind === 'inline'
          ? await verifyWithRing(await source.ring, request, algorithms)
          : await verifyWithPublished(source.keys, request, algorithms, trace, { among, permit });
      return { kind };
    },

    async start() {
      await Promise.all(remote.map((keys) => keys.refreshIfDue()));
    },

    readiness: remote.length === 0 ? undefined : readinessOf(remote, clock),
  };
}

type RemoteKeys = FetchedKeys<{ readonly ring: KeyRing }>;

function readinessOf(remote: readonly RemoteKeys[], clock: Clock): ReadinessCheck {
  return {
    name: 'approval_keys',
    async check() {
      const silent = remote.filter((keys) => (keys.held()?.ring.length ?? 0) === 0).length;
      if (silent > 0) {
        const detail = `There are no usable keys of ${silent} of ${remote.length} tool servers: they cannot ask for approvals.`;
        return { status: 'Degraded', detail };
      }
      const old = remote.filter((keys) => isStale(keys.lastFetchedAt(), clock)).length;
      if (old > 0) {
        const detail = `The keys of ${old} of ${remote.length} tool servers were last fetched over 15 minutes ago.`;
        return { status: 'Degraded', detail };
      }
      return { status: 'Healthy', detail: 'The keys of the tool servers were fetched.' };
    },
  };
}

function sourceOf(keys: AskingResource['keys'], network: Network, clock: Clock, log: Log): Source {
  if (keys.kind === 'inline') {
    const { usable = [] } = readKeySet({ keys: keys.jwks.keys.map((key) => ({ ...key })) }, APPROVAL_KEY_RULES) ?? {};
    return { kind: 'inline', ring: importKeys(usable) };
  }
  const fetch = publishedKeys(network, log, TOOL_SERVER_KEY_SET);
  const fetched = fetchedKeys(
    async (trace) => {
      const result = await fetch(keys.uri, trace);
      return result.kind === 'failed' ? result : { kind: 'fetched' as const, keys: { ring: result.keys } };
    },
    clock,
    REMOTE_KEY_AGES,
  );
  return { kind: 'remote', keys: fetched };
}
