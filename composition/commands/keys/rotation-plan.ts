/**
 * The three steps of a key rotation, with the settings of each: publish the next key everywhere, sign with it, retire the
 * former key, of which the public half stays. Every verifier has a key before the first signature with it, and as long as
 * its signatures must verify (specification "Configuration rules", "Ledger and seal", tool-server contract).
 */

import type { RotationStep, SettingLine } from '../../../adapters/cli/key-report.ts';
import { durationInWords } from '../../../domain/duration.ts';
import { CLOCK_SKEW_SECONDS } from '../../../domain/tokens/compact-jws.ts';
import type { SigningKeyChoice } from '../../settings/alternatives.ts';
import { variableOf } from '../../settings/startup-error.ts';

import { providersHaveRead, type SigningClient } from './signing-clients.ts';

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
 * @param clients those that authenticate at a provider with the key that signs
 */
export function rotationPlan(
  keys: readonly PlannedKey[],
  activeKid: string,
  next: PlannedKey,
  maxTokenTtl: number,
  clients: readonly SigningClient[],
): RotationPlan {
  const former = keys.filter(({ kid }) => kid !== next.kid);
  const isPublished = former.length < keys.length;
  const isActive = isPublished && activeKid === next.kid;
  const retiring = former.filter(({ canSign }) => canSign);
  const isRetired = isActive && retiring.length === 0;
  // Once the next key signs, the former key is known only because it is still configured.
  const signedBefore = isActive ? retiring.at(-1)?.kid : activeKid;
  const all = isPublished ? keys : [...keys, next];
  const reload = durationInWords(TOOL_SERVER_CACHE + SHARED_CACHE);
  const lastToken = durationInWords(maxTokenTtl + CLOCK_SKEW_SECONDS + TOOL_SERVER_CACHE);
  const steps: readonly RotationStep[] = [
    {
      number: 1,
      purpose: 'every replica publishes the next key; the present one continues to sign',
      done: isPublished,
      settings: signingSettings(all, signedBefore ?? next.kid),
      check: 'GET /.well-known/jwks.json of every replica lists the next key (--server asks them).',
    },
    {
      number: 2,
      purpose: 'the next key signs; the former one is only published',
      done: isActive,
      settings: signingSettings(all, next.kid),
      conditions: [
        `wait ${reload} from when step 1 had reached the last replica: tool servers keep the key set for ${durationInWords(TOOL_SERVER_CACHE)}, and caches on the way for ${durationInWords(SHARED_CACHE)}.`,
        ...providersHaveRead(clients),
      ],
      check:
        'the header of a new task token, and the newest of GET /audit/checkpoints, name the next key; a replica that is not up to date shows another kid there.',
    },
    {
      number: 3,
      purpose:
        'the former key is retired: only its public half stays configured, so its tokens and checkpoints still verify',
      done: isRetired,
      settings: signingSettings(all, next.kid),
      conditions: ['step 2 has reached every replica: one that still signs with the former key could not start again.'],
      // The option has a `=`, because a thumbprint may begin with a hyphen.
      acts: [
        ...retiring.map(({ kid, source, index }) =>
          source.kind === 'path'
            ? `run mandate keys retire --kid=${kid} for each copy of ${source.path}; the setting keeps naming the file.`
            : `replace ${variableOf(`Service:Signing:Keys:${index}:Pem`)} by the public half, which mandate keys retire --kid=${kid} prints.`,
        ),
      ],
      check: 'mandate keys show calls the former key "public half only" on every replica.',
      afterwards: `the settings of the former key may be removed ${lastToken} after step 2 had reached the last replica (Service:Agents:MaxTokenTtl, the clock skew, and the time a key set is kept; later if "token lifetimes" of mandate doctor names an agent above that setting), and once a checkpoint by the next key follows its last one. Its checkpoints then verify only with --jwks and a key set that was kept before: mandate keys show --json > published-keys.json.`,
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
