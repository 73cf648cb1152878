/**
 * A change of the signing key in three steps, as the settings of each: published everywhere, then signing, then gone.
 * Every verifier has the key before anything is signed with it, and has it for as long as anything signed with it has
 * to verify (specification "Configuration rules", "Ledger and seal", tool-server contract).
 */

import type { RotationStep, SettingLine } from '../adapters/cli/key-report.ts';
import { formatDuration } from '../domain/duration.ts';
import { CLOCK_SKEW_SECONDS } from '../domain/tokens/clock-skew.ts';
import type { SigningKeyChoice } from './settings/alternatives.ts';
import { variableOf } from './settings/setting-error.ts';

/** How long a tool server may serve keys from its cache (specification, tool-server contract). */
const TOOL_SERVER_CACHE = 600;
/** How long anything between it and us may keep our key set (adapters/http/discovery.ts, `Cache-Control`). */
const SHARED_CACHE = 300;

export interface PlannedKey {
  /** N in `Service:Signing:Keys:N`. */
  readonly index: number;
  readonly kid: string;
  readonly source: SigningKeyChoice['source'];
  /** Whether a Kid is set for it, or its thumbprint names it. */
  readonly isNamed: boolean;
}

export interface RotationPlan {
  readonly steps: readonly RotationStep[];
  readonly next: RotationStep['number'] | undefined;
}

/**
 * @param keys as configured, the next one among them or not
 * @param activeKid of the key that signs by these settings
 * @param next the key to change to; its index is free, or its own where it is configured
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
  const isAlone = isActive && former.length === 0;
  // Once it signs, what signed before is only known by its being here.
  const signedBefore = isActive ? former.at(-1)?.kid : activeKid;
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
      check:
        'the header of a new task token, and the newest of GET /audit/checkpoints, name the next key; a replica that is not up to date shows another kid there.',
    },
    {
      number: 3,
      purpose:
        'the former key is removed; optional: after a routine rotation keep it until the ledger no longer needs it',
      done: isAlone,
      settings: signingSettings([next], next.kid),
      unset: former.flatMap((key) => signingSettings([key], undefined).map(({ name }) => name)),
      conditions: [
        `wait ${lastToken} from when step 2 had reached the last replica: Service:Agents:MaxTokenTtl, the clock skew, and the time a key set is kept. Until then tokens signed with the former key are in use.`,
        'checkpoints verify only with keys that are published. Keep the former key configured for as long as audit-verify or a proof needs the checkpoints that it signed; it signs nothing new. Or keep the published set first (mandate keys show --json > published-keys.json) and verify with --jwks (audit-verify and audit-archive).',
      ],
      check: 'GET /.well-known/jwks.json of every replica lists only the next key (--server asks them).',
    },
  ];
  return { steps, next: steps.find(({ done }) => !done)?.number };
}

/** The variables of these keys, and which of them signs. */
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
