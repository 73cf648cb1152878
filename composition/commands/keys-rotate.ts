import { resolve } from 'node:path';
import { NOT_PUBLISHED, type RotateRequest } from '../../adapters/cli/commands/keys.ts';
import { exitCode } from '../../adapters/cli/exit-code.ts';
import { renderRotation } from '../../adapters/cli/key-report.ts';
import type { SettingArgument } from '../../adapters/cli/setting-arguments.ts';
import { thumbprintOf } from '../../adapters/jose/new-signing-key.ts';
import { readSigningKey, type SigningKey } from '../../adapters/jose/signing-key.ts';
import { httpNetwork } from '../../adapters/platform/http-network.ts';
import { KeyFileUnusable, readKeyFile } from '../../adapters/platform/key-file.ts';
import { askReplica } from '../published-by.ts';
import { type PlannedKey, rotationPlan } from '../rotation-plan.ts';
import type { SettingSources } from '../settings/given-settings.ts';
import { readSettingsSection } from '../settings/read-settings.ts';
import { type ConfiguredKey, configuredSigningKeys } from '../signing.ts';
import { StartupError } from '../startup-error.ts';
import { freeIndex, isUsableKid, makeKey, writeKey } from './keys-generate.ts';
import { runCommand, settingSources, validSettings } from './run-command.ts';

/**
 * Prints the settings of each step of a key rotation, and which step is next by the current settings. The command
 * itself only generates the next key, once: the operator changes the settings, on every replica.
 */
export async function keysRotate(request: RotateRequest, overrides: readonly SettingArgument[]): Promise<number> {
  return runCommand(
    async () => {
      if (!isUsableKid(request.kid)) return exitCode.usage;
      const settings = settingSources(overrides);
      const { keys, signingKeys } = await configuredSigningKeys(
        validSettings(readSettingsSection(settings, 'Service:Signing'), undefined),
      );
      const maxTokenTtl = validSettings(readSettingsSection(settings, 'Service:Agents'), undefined)[
        'Service:Agents:MaxTokenTtl'
      ];
      const file = resolve(request.next);
      const { key, made, configured } = await nextKey(file, request.kid, keys);
      const planned = configured ?? plannedNext(key, file, request.kid, settings);
      const plan = rotationPlan(keys.map(plannedKey), signingKeys.checkpoints.kid, planned, maxTokenTtl);
      const kids = keys.map((configuredKey) => configuredKey.key.keyId);
      const network = httpNetwork();
      const replicas = await Promise.all(request.servers.map((server) => askReplica(network, server, kids)));
      const thumbprint = await thumbprintOf(key);
      const about = { kid: planned.kid, thumbprint, file, publicJwk: key.publicJwk };
      process.stdout.write(renderRotation({ key: about, made, ...plan, replicas }, request.json));
      const reached = replicas.every(
        ({ published, missing, surplus }) => !('problem' in published) && missing.length + surplus.length === 0,
      );
      return reached ? exitCode.done : NOT_PUBLISHED;
    },
    { log: process.stderr },
  );
}

interface NextKey {
  readonly key: SigningKey;
  readonly made: boolean;
  /** Its configuration, if it is already configured. */
  readonly configured: PlannedKey | undefined;
}

/** @throws StartupError if the file exists without a key, or cannot be written */
async function nextKey(file: string, kid: string | undefined, keys: readonly ConfiguredKey[]): Promise<NextKey> {
  const text = await textOf(file);
  if (text === undefined) {
    const { pem, key } = await makeKey(kid);
    await writeKey(file, pem);
    return { key, made: true, configured: undefined };
  }
  const read = await readSigningKey(text, kid);
  if (read.kind === 'unusable') throw new StartupError([`${file} ${read.problem}.`]);
  const same = keys.find(({ key }) => isSameKey(key, read.key));
  if (same === undefined) return { key: read.key, made: false, configured: undefined };
  if (kid !== undefined && same.key.keyId !== kid) {
    throw new StartupError([`${file} holds a key that is configured under another name than --kid says.`]);
  }
  return { key: same.key, made: false, configured: plannedKey(same) };
}

async function textOf(file: string): Promise<string | undefined> {
  try {
    return await readKeyFile(file);
  } catch (error) {
    if (!(error instanceof KeyFileUnusable)) throw error;
    throw new StartupError([`${file} ${error.problem}.`]);
  }
}

function isSameKey(one: SigningKey, other: SigningKey): boolean {
  return one.publicJwk.x === other.publicJwk.x && one.publicJwk.y === other.publicJwk.y;
}

function plannedNext(key: SigningKey, file: string, kid: string | undefined, settings: SettingSources): PlannedKey {
  return {
    index: freeIndex(settings),
    kid: key.keyId,
    source: { kind: 'path', path: file },
    isNamed: kid !== undefined,
  };
}

function plannedKey({ choice, key }: ConfiguredKey): PlannedKey {
  return { index: choice.index, kid: key.keyId, source: choice.source, isNamed: choice.kid !== undefined };
}
