/**
 * The three steps of a key rotation, with the settings of each: publish the next key everywhere, sign with it, retire the
 * former key, of which the public half stays. Every verifier has a key before the first signature with it, and as long as
 * its signatures must verify (specification "Configuration rules", "Ledger and seal", tool-server contract).
 */

import type { ReplicaAnswer, RotationStep, SettingLine } from '../adapters/cli/key-report.ts';
import { type Network, NetworkFailure } from '../application/ports/network.ts';
import type { Jwk } from '../domain/agents/public-key.ts';
import { formatDuration } from '../domain/duration.ts';
import { CLOCK_SKEW_SECONDS } from '../domain/tokens/compact-jws.ts';
import { isJsonObject, type Json, member, parseStrictJson } from '../domain/tokens/strict-json.ts';
import type { SigningKeyChoice } from './settings/alternatives.ts';
import { variableOf } from './startup-error.ts';

/** How long a tool server may cache keys (specification, tool-server contract). */
const TOOL_SERVER_CACHE = 600;
/** How long an HTTP cache in between may keep our key set (`Cache-Control` of the key set). */
const SHARED_CACHE = 300;

export interface PlannedKey {
  /** N in `Service:Signing:Keys:N`. */
  readonly index: number;
  readonly kid: string;
  readonly source: SigningKeyChoice['source'];
  /** Whether its `Kid` is set. Otherwise its `kid` is its thumbprint. */
  readonly isNamed: boolean;
  /** Whether its private half is configured. */
  readonly canSign: boolean;
}

interface RotationPlan {
  readonly steps: readonly RotationStep[];
  readonly next: RotationStep['number'] | undefined;
}

/**
 * @param keys the configured keys, with or without the next one
 * @param activeKid the kid of the key that signs by the current settings
 * @param next the next key; `index` is its number in the settings, or a free number if it is not configured yet
 * @param maxTokenTtl `Service:Agents:MaxTokenTtl`, in seconds
 */
export function rotationPlan(
  keys: readonly PlannedKey[],
  activeKid: string,
  next: PlannedKey,
  maxTokenTtl: number,
): RotationPlan {
  const former = keys.filter(({ kid }) => kid !== next.kid);
  const isPublished = former.length < keys.length;
  const isActive = isPublished && activeKid === next.kid;
  const retiring = former.filter(({ canSign }) => canSign);
  const isRetired = isActive && retiring.length === 0;
  // Once the next key signs, the former key is known only because it is still configured.
  const signedBefore = isActive ? retiring.at(-1)?.kid : activeKid;
  const all = isPublished ? keys : [...keys, next];
  const reload = formatDuration(TOOL_SERVER_CACHE + SHARED_CACHE);
  const lastToken = formatDuration(maxTokenTtl + CLOCK_SKEW_SECONDS + TOOL_SERVER_CACHE);
  const steps: readonly RotationStep[] = [
    {
      number: 1,
      purpose: 'every replica publishes the next key; the present one continues to sign',
      done: isPublished,
      settings: signingSettings(all, signedBefore ?? next.kid),
      unset: [],
      conditions: [],
      acts: [],
      afterwards: undefined,
      check: 'GET /.well-known/jwks.json of every replica lists the next key (--server asks them).',
    },
    {
      number: 2,
      purpose: 'the next key signs; the former one is only published',
      done: isActive,
      settings: signingSettings(all, next.kid),
      unset: [],
      conditions: [
        `wait ${reload} from when step 1 had reached the last replica: tool servers keep the key set for ${formatDuration(TOOL_SERVER_CACHE)}, and caches on the way for ${formatDuration(SHARED_CACHE)}.`,
        'with SponsorCheck:Mode poll, the identity provider must have read the new key set too: it verifies the authentication of this service with it.',
      ],
      acts: [],
      afterwards: undefined,
      check:
        'the header of a new task token, and the newest of GET /audit/checkpoints, name the next key; a replica that is not up to date shows another kid there.',
    },
    {
      number: 3,
      purpose:
        'the former key is retired: only its public half stays configured, so its tokens and checkpoints still verify',
      done: isRetired,
      settings: signingSettings(all, next.kid),
      unset: [],
      conditions: ['step 2 has reached every replica: one that still signs with the former key could not start again.'],
      // With `=`, because a thumbprint may begin with a hyphen.
      acts: [
        ...retiring.map(({ kid, source, index }) =>
          source.kind === 'path'
            ? `run mandate keys retire --kid=${kid} for each copy of ${source.path}; the setting keeps naming the file.`
            : `replace ${variableOf(`Service:Signing:Keys:${index}:Pem`)} by the public half, which mandate keys retire --kid=${kid} prints.`,
        ),
      ],
      check: 'mandate keys show calls the former key "public half only" on every replica.',
      afterwards: `the settings of the former key may be removed ${lastToken} after step 2 had reached the last replica (Service:Agents:MaxTokenTtl, the clock skew, and the time a key set is kept), and once a checkpoint by the next key follows its last one. Its checkpoints then verify only with --jwks and a key set that was kept before: mandate keys show --json > published-keys.json.`,
    },
  ];
  return { steps, next: steps.find(({ done }) => !done)?.number };
}

/** The variables of these keys, and of the active one. */
export function signingSettings(keys: readonly PlannedKey[], activeKid: string | undefined): readonly SettingLine[] {
  const ofKeys = keys.flatMap(({ index, kid, source, isNamed }): readonly SettingLine[] => [
    source.kind === 'path'
      ? { name: variableOf(`Service:Signing:Keys:${index}:Path`), value: source.path }
      : { name: variableOf(`Service:Signing:Keys:${index}:Pem`), value: undefined },
    ...(isNamed ? [{ name: variableOf(`Service:Signing:Keys:${index}:Kid`), value: kid }] : []),
  ]);
  return activeKid === undefined
    ? ofKeys
    : [...ofKeys, { name: variableOf('Service:Signing:ActiveKid'), value: activeKid }];
}

/** The time limit for a replica's answer. A replica on the same network answers at once, or is down. */
const TIMEOUT_MS = 5000;
/** The same limit as for other key sets. */
const MAX_BYTES = 256 * 1024;

/** The id and the point of a key. Every signing key is on P-256. */
type PublishedKey = Pick<Jwk, 'kid' | 'x' | 'y'>;

/**
 * Compares the key set of a replica with the configured keys: the keys themselves, because anyone can name a key as ours.
 *
 * @param server its origin @param keys that it should publish, and no others
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

async function publishedBy(
  network: Network,
  server: string,
): Promise<readonly PublishedKey[] | { readonly problem: string }> {
  try {
    const { status, body } = await network.send({
      method: 'GET',
      url: `${server}/.well-known/jwks.json`,
      headers: { accept: 'application/jwk-set+json, application/json' },
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
    });
    if (status !== 200) return { problem: `The answer's status was ${status}.` };
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
