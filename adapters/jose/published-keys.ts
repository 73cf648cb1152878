/** Fetches a published key set (RFC 7517 §5), and verifies signatures with it. */

import type { SignatureFault } from '../../application/ports/keys.ts';
import { isDocument, type Network, NetworkFailure, type Problem } from '../../application/ports/network.ts';
import { type Log, traceFields } from '../../application/ports/telemetry.ts';
import { readKeySet } from '../../domain/agents/key-set.ts';
import type { KeyRules } from '../../domain/agents/public-key.ts';
import type { AgentId } from '../../domain/identifiers.ts';
import type { CompactJws } from '../../domain/tokens/compact-jws.ts';
import { parseStrictJson } from '../../domain/tokens/strict-json.ts';
import type { Trace } from '../../domain/trace-context.ts';
import type { Fetch, FetchedKeys } from './fetched-keys.ts';
import { importKey, type KeyRing, type VerificationKey, verifyWithRing } from './key-ring.ts';
import type { Waiter } from './key-waits.ts';

export interface PublishedKeysRules {
  /** The owner of the keys, named in the log. */
  readonly owner: 'agent' | 'tool server' | 'identity provider' | 'transmitter';
  readonly keys: KeyRules;
  readonly maxBytes: number;
  /** A set of more keys is refused. */
  readonly maxKeys?: number;
  readonly httpsOnly: boolean;
  /** Whether keys may come from public addresses only. */
  readonly publicOnly?: boolean | undefined;
  /** The agent that owns the keys, or the first of several with the same URI. Only the log names it. */
  readonly agent?: AgentId | undefined;
}

/** The time limit of a fetch (supplement "Client assertions", remote key sets). */
const TIMEOUT_MS = 5000;

/** A log line names at most this many keys, and the number of the others. */
const MAX_NAMED = 10;

/**
 * Fetches keys from a URI. A set without usable keys resolves with an empty ring. That and a failed fetch are logged if
 * the problem differs from the previous one. So are the reasons why keys of a set are not used.
 */
export function publishedKeys(
  network: Network,
  log: Log,
  rules: PublishedKeysRules,
): (uri: string, trace: Trace | undefined) => Promise<Fetch<KeyRing>> {
  const { owner, agent } = rules;
  let lastProblem: string | undefined;
  let lastUnused: string | undefined;
  return async (uri, trace) => {
    const {
      ring,
      problem,
      unused,
      retryAfter,
      timedOut = false,
      cause,
    } = await readPublishedKeys(uri, network, rules, trace);
    // Keys are also fetched in the background, where no caller could catch the error.
    if (cause !== undefined) log.error('Reading a key set failed.', cause, { ...traceFields(trace), owner });
    const about = { ...traceFields(trace), owner, ...(agent === undefined ? {} : { agent }), host: hostOf(uri) };
    if (problem !== undefined && problem !== lastProblem) log.warn('There are no new keys.', { ...about, problem });
    if (problem === undefined && lastProblem !== undefined) log.info('There are new keys again.', about);
    lastProblem = problem;
    if (unused !== undefined && unused !== lastUnused) log.info('Keys of the set are not used.', { ...about, unused });
    if (problem === undefined) lastUnused = unused;
    return ring === undefined ? { kind: 'failed', retryAfter, timedOut } : { kind: 'fetched', keys: ring };
  };
}

interface ReadKeys extends Partial<Problem> {
  /** `undefined` if the fetch failed. */
  readonly ring?: KeyRing;
  /** Sentences about the keys of the set that are not in the ring. */
  readonly unused?: string | undefined;
  readonly retryAfter?: number | undefined;
  readonly timedOut?: boolean;
  /** An error that is a fault of this program. */
  readonly cause?: unknown;
}

/** Reads a key set once. There is a problem also if no key of the set can be used. */
export async function readPublishedKeys(
  uri: string,
  network: Network,
  { owner, keys, maxBytes, maxKeys, httpsOnly, publicOnly = false }: PublishedKeysRules,
  trace?: Trace,
): Promise<ReadKeys> {
  if (httpsOnly && !(URL.canParse(uri) && new URL(uri).protocol === 'https:')) return { problem: 'It is not https.' };
  try {
    const { status, body, retryAfter } = await network.send({
      method: 'GET',
      url: uri,
      headers: { accept: 'application/jwk-set+json, application/json' },
      timeoutMs: TIMEOUT_MS,
      maxBytes,
      publicOnly,
      trace,
      purpose: 'keys',
    });
    if (owner === 'agent' || owner === 'tool server' ? status !== 200 : !isDocument(status)) {
      return { problem: `The answer's status was ${status}.`, status, retryAfter };
    }
    const set = readKeySet(parseStrictJson(body), keys);
    if (set === undefined) return { problem: 'The answer is not a key set.', status };
    if (maxKeys !== undefined && set.usable.length + set.unused.length > maxKeys) {
      return { problem: `The set has more than ${maxKeys} keys.`, status };
    }
    const imported = await Promise.all(
      set.usable.map(async ({ index, ...key }) => ({ index, key: await importKey(key) })),
    );
    const ring = imported.flatMap(({ key }) => key ?? []);
    const failed = imported.flatMap(({ index, key }) => (key ? [] : `keys[${index}] cannot be imported.`));
    const unused = named([...set.unused, ...failed]);
    if (ring.length > 0) return { ring, unused };
    const sentences = ['No key of the set can be used.', ...(unused === undefined ? [] : [unused])];
    return { ring, problem: sentences.join(' '), status };
  } catch (cause) {
    if (cause instanceof NetworkFailure) return { problem: cause.message, timedOut: cause.timedOut };
    return { problem: 'Reading it failed.', cause };
  }
}

function named(sentences: readonly string[]): string | undefined {
  if (sentences.length === 0) return undefined;
  const rest = sentences.length - MAX_NAMED;
  return [...sentences.slice(0, MAX_NAMED), ...(rest > 0 ? [`Also ${rest} more.`] : [])].join(' ');
}

type Faulty = { readonly kind: SignatureFault };
type PublishedVerdict<Keys> =
  | { readonly kind: 'verified'; readonly key: VerificationKey; readonly keys: Keys }
  | Faulty;

/** Verifies with the cached keys. If that fails, a key rotation could be the cause: fetches the keys and tries again. */
export async function verifyWithPublished<Keys extends { readonly ring: KeyRing }>(
  published: FetchedKeys<Keys>,
  jws: CompactJws,
  algorithms: readonly string[],
  trace?: Trace,
  waiter?: Waiter,
): Promise<PublishedVerdict<Keys>> {
  // Checked before any fetch: no key can help with an unsupported algorithm.
  if (!algorithms.includes(jws.algorithm)) return { kind: 'unsupported_algorithm' };
  const { keys, fresh } = await published.current(trace, waiter);
  if (keys === undefined) return { kind: 'keys_unavailable' };
  let { ring } = keys;
  const first = await verifyWithRing(ring, jws, algorithms);
  if (first.kind === 'verified') return { ...first, keys };
  if (fresh) return first;
  // The keys are fetched again also for a known `kid`: some providers publish a new key under the old `kid`.
  for (let fault: Faulty = first, lookUps = 1; ; lookUps += 1) {
    const lookUp = await published.again(trace, waiter);
    if (lookUp.kind === 'too_early') return fault;
    if (lookUp.kind === 'failed') return namesKnownKey(ring, jws) ? fault : { kind: 'keys_unavailable' };
    ({ ring } = lookUp.keys);
    const verdict = await verifyWithRing(ring, jws, algorithms);
    if (verdict.kind === 'verified') {
      published.brought();
      return { ...verdict, keys: lookUp.keys };
    }
    fault = verdict;
    // Another look-up after a joined one. The fetch that it joins, if any, began after the token was here.
    if (lookUp.kind === 'fetched' || lookUps === 2) return fault;
  }
}

/**
 * Whether the token names a cached key, which did not verify it. Otherwise its key may be a new one that could not be
 * fetched, and the token is not to blame.
 */
function namesKnownKey(ring: KeyRing, { keyId }: CompactJws): boolean {
  return keyId !== undefined && ring.some((key) => key.keyId === keyId);
}

function hostOf(uri: string): string {
  return URL.canParse(uri) ? new URL(uri).host : 'not a URL';
}
