/** What `mandate keys` prints: sentences and settings for a person, or one JSON object for a program. */

import type { Jwk, JwkSet } from '../../domain/agents/jwk.ts';

/** An environment variable of a signing setting. */
export interface SettingLine {
  readonly name: string;
  /** `undefined` where it is a secret that stays as it is. */
  readonly value: string | undefined;
}

export interface ShownKey {
  readonly kid: string;
  readonly thumbprint: string;
  /** The setting that it comes from. */
  readonly setting: string;
  readonly signs: boolean;
}

export interface NewKey {
  readonly kid: string;
  readonly thumbprint: string;
  /** `undefined` on standard output. */
  readonly file: string | undefined;
  readonly publicJwk: Jwk;
}

export interface RotationStep {
  readonly number: 1 | 2 | 3;
  readonly purpose: string;
  /** Whether the settings here are those of this step, or of a later one. */
  readonly done: boolean;
  /** Every signing setting once the step is taken. */
  readonly settings: readonly SettingLine[];
  /** Variables to take away. */
  readonly unset: readonly string[];
  /** What to wait for before it; none before the first. */
  readonly conditions: readonly string[];
  /** How it shows that the step has reached every replica. */
  readonly check: string;
}

export interface ReplicaAnswer {
  readonly server: string;
  /** `problem` when no key set came. */
  readonly published: readonly string[] | { readonly problem: string };
  /** Kids that the settings here have, and this replica does not publish. */
  readonly missing: readonly string[];
  /** Kids that it publishes, and the settings here do not have. */
  readonly surplus: readonly string[];
}

export interface Rotation {
  readonly key: NewKey;
  /** Whether it was made just now. */
  readonly made: boolean;
  /** The step to take next; `undefined` when none is left. */
  readonly next: RotationStep['number'] | undefined;
  readonly steps: readonly RotationStep[];
  readonly replicas: readonly ReplicaAnswer[];
}

/** Each of these answers text with its line feed. */
export function renderNewKey(key: NewKey, settings: readonly SettingLine[], json: boolean): string {
  if (json) return jsonLine({ ...presentKey(key), settings: presentSettings(settings) });
  return lines([
    key.file === undefined
      ? 'A signing key was made.'
      : `A signing key was made: ${key.file} (read by its owner alone).`,
    `Its RFC 7638 thumbprint: ${key.thumbprint}`,
    ...(key.kid === key.thumbprint ? [] : [`Its name in the key set: ${key.kid}`]),
    '',
    'Settings that take it up, on every replica:',
    ...settings.map(assignment),
  ]);
}

export function renderKeys(keys: readonly ShownKey[], published: JwkSet, json: boolean): string {
  if (json) return jsonLine(published);
  const described = keys.map(
    ({ kid, thumbprint, setting, signs }) =>
      `${signs ? 'signs    ' : 'published'}  ${kid}${kid === thumbprint ? '' : `  (thumbprint ${thumbprint})`}  from ${setting}`,
  );
  return lines([...described, '', 'Published at /.well-known/jwks.json:', JSON.stringify(published, undefined, 2)]);
}

export function renderRotation({ key, made, next, steps, replicas }: Rotation, json: boolean): string {
  if (json) {
    return jsonLine({
      next_step: next ?? null,
      key: { ...presentKey(key), made },
      steps: steps.map(({ number, purpose, done, settings, unset, conditions, check }) => ({
        step: number,
        purpose,
        done,
        settings: presentSettings(settings),
        unchanged: settings.flatMap(({ name, value }) => (value === undefined ? [name] : [])),
        unset,
        conditions,
        check,
      })),
      replicas: replicas.map(({ server, published, missing, surplus }) => ({
        server,
        ...('problem' in published ? { problem: published.problem } : { published }),
        missing,
        surplus,
      })),
    });
  }
  return lines([
    `The next key ${made ? 'was made' : 'is there'}: ${key.file}, ${key.kid}`,
    next === undefined ? 'Every step is in the settings here.' : `By the settings here, step ${next} is next.`,
    ...steps.flatMap((step) => ['', ...stepLines(step)]),
    ...(replicas.length === 0 ? [] : ['', ...replicas.map(describeReplica)]),
  ]);
}

function stepLines({ number, purpose, done, settings, unset, conditions, check }: RotationStep): readonly string[] {
  return [
    `Step ${number}${done ? ' (in the settings here)' : ''}: ${purpose}`,
    ...conditions.map((condition) => `  Before it: ${condition}`),
    ...settings.map((line) => `  ${assignment(line)}`),
    ...unset.map((name) => `  ${name}=                    (take it away)`),
    `  Then: ${check}`,
  ];
}

function describeReplica({ server, published, missing, surplus }: ReplicaAnswer): string {
  if ('problem' in published) return `${server} could not be asked: ${published.problem}`;
  if (missing.length > 0) return `${server} does not publish yet: ${missing.join(', ')}`;
  if (surplus.length > 0) return `${server} still publishes: ${surplus.join(', ')}`;
  return `${server} publishes what the settings here say.`;
}

function assignment({ name, value }: SettingLine): string {
  return value === undefined ? `${name}=…                    (a secret; as it is)` : `${name}=${value}`;
}

function presentKey({ kid, thumbprint, file, publicJwk }: NewKey) {
  return { kid, thumbprint, file: file ?? null, public_jwk: publicJwk };
}

function presentSettings(settings: readonly SettingLine[]): Record<string, string> {
  return Object.fromEntries(settings.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])));
}

function jsonLine(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}

function lines(all: readonly string[]): string {
  return `${all.join('\n')}\n`;
}
