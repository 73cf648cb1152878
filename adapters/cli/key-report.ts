/** Renders the output of `mandate keys`: sentences and settings for a person, or one JSON object for a program. */

import type { ReplicaAnswer } from '../../application/ports/keys.ts';
import type { Jwk, JwkSet } from '../../domain/agents/public-key.ts';

/** An environment variable of a signing setting. */
export interface SettingLine {
  readonly name: string;
  /** `undefined` for a secret that stays unchanged. */
  readonly value: string | undefined;
}

export interface ShownKey {
  readonly kid: string;
  readonly thumbprint: string;
  /** The setting that configures the key. */
  readonly setting: string;
  /** A retired key may be configured by its public half only. */
  readonly role: 'signs' | 'published' | 'public_half';
}

interface NewKey {
  readonly kid: string;
  readonly thumbprint: string;
  /** `undefined` if the key was written to standard output. */
  readonly file: string | undefined;
  readonly publicJwk: Jwk;
}

export interface RotationStep {
  readonly number: 1 | 2 | 3;
  readonly purpose: string;
  /** Whether the current settings include this step. */
  readonly done: boolean;
  /** All signing settings after the step. */
  readonly settings: readonly SettingLine[];
  /** What must hold before the step. The first step has no conditions. */
  readonly conditions?: readonly string[];
  /** What the operator must do besides changing the settings. */
  readonly acts?: readonly string[];
  /** How to check that the step has reached every replica. */
  readonly check: string;
  /** What may be done after the step. */
  readonly afterwards?: string;
}

interface Rotation {
  readonly key: NewKey;
  /** Whether this run generated the key. */
  readonly made: boolean;
  /** The next step. `undefined` after the last one. */
  readonly next: RotationStep['number'] | undefined;
  readonly steps: readonly RotationStep[];
  readonly replicas: readonly ReplicaAnswer[];
}

/** The functions below return text that ends with a line feed. */
export function renderNewKey(key: NewKey, settings: readonly SettingLine[], json: boolean): string {
  if (json) return jsonLine({ ...presentKey(key), settings: presentSettings(settings) });
  return lines([
    key.file === undefined
      ? 'A signing key was generated.'
      : `A signing key was generated: ${key.file} (readable only by its owner).`,
    `Its RFC 7638 thumbprint: ${key.thumbprint}`,
    ...(key.kid === key.thumbprint ? [] : [`Its name in the key set: ${key.kid}`]),
    '',
    'Settings for every replica:',
    ...settings.map(assignment),
  ]);
}

export function renderKeys(keys: readonly ShownKey[], published: JwkSet, json: boolean): string {
  if (json) return jsonLine(published);
  const described = keys.map(
    ({ kid, thumbprint, setting, role }) =>
      `${role === 'signs' ? 'signs    ' : 'published'}  ${kid}${kid === thumbprint ? '' : `  (thumbprint ${thumbprint})`}  from ${setting}${role === 'public_half' ? '  (public half only)' : ''}`,
  );
  return lines([...described, '', 'Published at /.well-known/jwks.json:', JSON.stringify(published, undefined, 2)]);
}

/** @param setting names the file of the key */
export function renderRetirement(key: NewKey, setting: string, json: boolean): string {
  if (json) return jsonLine({ ...presentKey(key), setting });
  return lines([
    `The file now holds only the public half of the key ${key.kid}: ${key.file}`,
    `${setting} still names it, so no setting changes here. Restart the replicas that use this file, one by one.`,
    'Its tokens and checkpoints still verify. Nothing can be signed with it, unless a copy of the private key exists:',
    'run the command for each other copy of the file, and delete it from secret stores, backups and snapshots.',
  ]);
}

export function renderRotation({ key, made, next, steps, replicas }: Rotation, json: boolean): string {
  if (json) {
    return jsonLine({
      next_step: next ?? null,
      key: { ...presentKey(key), made },
      steps: steps.map(({ number, purpose, done, settings, conditions = [], acts = [], check, afterwards = null }) => ({
        step: number,
        purpose,
        done,
        settings: presentSettings(settings),
        unchanged: settings.flatMap(({ name, value }) => (value === undefined ? [name] : [])),
        // No step unsets a variable. Programs may read the member.
        unset: [],
        conditions,
        acts,
        afterwards,
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
    `The next key ${made ? 'was generated' : 'exists'}: ${key.file}, ${key.kid}`,
    next === undefined ? 'The current settings include every step.' : `By the current settings, step ${next} is next.`,
    ...steps.flatMap((step) => ['', ...stepLines(step)]),
    ...(replicas.length === 0 ? [] : ['', ...replicas.map(describeReplica)]),
  ]);
}

function stepLines(step: RotationStep): readonly string[] {
  const { number, purpose, done, settings, conditions = [], acts = [], check, afterwards } = step;
  return [
    `Step ${number}${done ? ' (in the current settings)' : ''}: ${purpose}`,
    ...conditions.map((condition) => `  Before it: ${condition}`),
    ...acts.map((act) => `  Do: ${act}`),
    ...settings.map((line) => `  ${assignment(line)}`),
    `  Then: ${check}`,
    ...(afterwards === undefined ? [] : [`  Afterwards: ${afterwards}`]),
  ];
}

function describeReplica({ server, published, missing, surplus }: ReplicaAnswer): string {
  if ('problem' in published) return `${server} could not be reached: ${published.problem}`;
  const other = missing.filter((kid) => surplus.includes(kid));
  if (other.length > 0) return `${server} publishes another key under the configured name: ${other.join(', ')}`;
  if (missing.length > 0) return `${server} does not publish yet: ${missing.join(', ')}`;
  if (surplus.length > 0) return `${server} still publishes: ${surplus.join(', ')}`;
  return `${server} publishes the configured keys.`;
}

function assignment({ name, value }: SettingLine): string {
  return value === undefined ? `${name}=…                    (a secret; unchanged)` : `${name}=${value}`;
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
