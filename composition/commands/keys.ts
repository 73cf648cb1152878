import { resolve } from 'node:path';
import { exitCode } from '../../adapters/cli/command.ts';
import {
  type GenerateRequest,
  NOT_PUBLISHED,
  type RetireRequest,
  type RotateRequest,
  type ShowRequest,
} from '../../adapters/cli/commands/keys.ts';
import {
  renderKeys,
  renderNewKey,
  renderRetirement,
  renderRotation,
  type SettingLine,
  type ShownKey,
} from '../../adapters/cli/key-report.ts';
import type { SettingArgument } from '../../adapters/cli/setting-arguments.ts';
import { writeOutput } from '../../adapters/cli/standard-output.ts';
import {
  canSign,
  newSigningKey,
  type PublicHalf,
  publicPem,
  readSigningKey,
  thumbprintOf,
} from '../../adapters/jose/signing-key.ts';
import { httpNetwork } from '../../adapters/platform/http-network.ts';
import { KeyFileUnusable, readKeyFile, replaceByPublicHalf, writeKeyFile } from '../../adapters/platform/key-file.ts';
import { askReplica, type PlannedKey, rotationPlan, signingSettings } from '../rotation-plan.ts';
import { catalogue } from '../settings/catalogue.ts';
import { givenSettings, type SettingSources } from '../settings/given-settings.ts';
import { readSettingsSection } from '../settings/read-settings.ts';
import { type ConfiguredKey, configuredSigningKeys, isSameKey } from '../signing.ts';
import { StartupError } from '../startup-error.ts';
import { printError, processSettings, runReport, validSection } from './run-command.ts';

const STANDARD_OUTPUT = '-';
const SIGNING_KEYS = 'Service:Signing:Keys';

/** Generates a signing key in a file or on standard output, and prints its settings. */
export async function keysGenerate(request: GenerateRequest, overrides: readonly SettingArgument[]): Promise<number> {
  return runReport(async () => {
    if (!isUsableKid(request.kid)) return exitCode.usage;
    const { pem, key } = await newSigningKey(request.kid);
    const file = request.out === STANDARD_OUTPUT ? undefined : resolve(request.out);
    if (file === undefined) process.stdout.write(pem.reveal());
    else await withKeyFile(file, () => writeKeyFile(file, pem));
    const thumbprint = await thumbprintOf(key);
    const added = await settingsToAdd(processSettings(overrides), { key, file, isNamed: request.kid !== undefined });
    const report = renderNewKey({ kid: key.keyId, thumbprint, file, publicJwk: key.publicJwk }, added, request.json);
    // If the key is written to standard output, the report goes to standard error.
    (file === undefined ? process.stderr : process.stdout).write(report);
    return exitCode.done;
  });
}

/** Returns the problem of an unusable name. */
function isUsableKid(kid: string | undefined): boolean {
  const read = kid === undefined ? undefined : catalogue['Service:Signing:Keys:N:Kid'].type.read(kid);
  if (read?.kind !== 'wrong') return true;
  printError(`--kid ${read.problem}. Accepted: ${catalogue['Service:Signing:Keys:N:Kid'].type.accepts}.`);
  return false;
}

/** @throws StartupError with the file */
async function withKeyFile<Result>(file: string, work: (file: string) => Promise<Result>): Promise<Result> {
  try {
    return await work(file);
  } catch (error) {
    if (!(error instanceof KeyFileUnusable)) throw error;
    throw new StartupError([`${file} ${error.problem}.`]);
  }
}

/** The first unused N of `Service:Signing:Keys:N`. It is found even if the configured keys are unusable. */
function freeIndex(settings: SettingSources): number {
  const taken = givenSettings(settings).numbers(SIGNING_KEYS);
  return taken.length === 0 ? 0 : Math.max(...taken) + 1;
}

/** With several keys, ActiveKid is required: it names the key that signs now. */
async function settingsToAdd(
  settings: SettingSources,
  made: { readonly key: PublicHalf; readonly file: string | undefined; readonly isNamed: boolean },
): Promise<readonly SettingLine[]> {
  const planned = plannedNext(made.key, made.file ?? '/path/to/the/file.pem', made.isNamed, settings);
  const isActiveNamed = givenSettings(settings).text('Service:Signing:ActiveKid') !== undefined;
  return signingSettings([planned], isActiveNamed ? undefined : await signingKid(settings));
}

/** The `kid` of the key that signs; `undefined` if there is no key yet, or the settings of the keys are unusable. */
async function signingKid(settings: SettingSources): Promise<string | undefined> {
  const read = readSettingsSection(settings, 'Service:Signing');
  if (read.kind === 'invalid') return undefined;
  try {
    return (await configuredSigningKeys(read.settings)).signingKeys.checkpoints.kid;
  } catch (error) {
    if (error instanceof StartupError) return undefined;
    throw error;
  }
}

/**
 * Prints the settings of each step of a key rotation, and which step is next by the current settings. The command
 * itself only generates the next key, once: the operator changes the settings, on every replica.
 */
export async function keysRotate(request: RotateRequest, overrides: readonly SettingArgument[]): Promise<number> {
  return runReport(async () => {
    if (!isUsableKid(request.kid)) return exitCode.usage;
    const settings = processSettings(overrides);
    const { keys, signingKeys } = await configuredSigningKeys(validSection(settings, 'Service:Signing'));
    const maxTokenTtl = validSection(settings, 'Service:Agents')['Service:Agents:MaxTokenTtl'];
    const file = resolve(request.next);
    const { key, made, configured } = await nextKey(file, request.kid, keys);
    const planned = configured ?? plannedNext(key, file, request.kid !== undefined, settings);
    const plan = rotationPlan(keys.map(plannedKey), signingKeys.checkpoints.kid, planned, maxTokenTtl);
    const publicKeys = keys.map((configuredKey) => configuredKey.key.publicJwk);
    const network = httpNetwork();
    const replicas = await Promise.all(request.servers.map((server) => askReplica(network, server, publicKeys)));
    const thumbprint = await thumbprintOf(key);
    const about = { kid: planned.kid, thumbprint, file, publicJwk: key.publicJwk };
    process.stdout.write(renderRotation({ key: about, made, ...plan, replicas }, request.json));
    const reached = replicas.every(
      ({ published, missing, surplus }) => !('problem' in published) && missing.length + surplus.length === 0,
    );
    return reached ? exitCode.done : NOT_PUBLISHED;
  });
}

interface NextKey {
  readonly key: PublicHalf;
  readonly made: boolean;
  /** The next key's settings; `undefined` if it is not configured yet. */
  readonly configured: PlannedKey | undefined;
}

/** @throws StartupError if the file exists without a key, or cannot be written */
async function nextKey(file: string, kid: string | undefined, keys: readonly ConfiguredKey[]): Promise<NextKey> {
  const text = await withKeyFile(file, readKeyFile);
  if (text === undefined) {
    const { pem, key } = await newSigningKey(kid);
    await withKeyFile(file, () => writeKeyFile(file, pem));
    return { key, made: true, configured: undefined };
  }
  const read = await readSigningKey(text, kid);
  if (read.kind === 'unusable') throw new StartupError([`${file} ${read.problem}.`]);
  if (read.kind === 'public_half') {
    throw new StartupError([`${file} holds only the public half of a key, which cannot become the key that signs.`]);
  }
  const same = keys.find(({ key }) => isSameKey(key, read.key));
  if (same === undefined) return { key: read.key, made: false, configured: undefined };
  if (kid !== undefined && same.key.keyId !== kid) {
    throw new StartupError([`${file} holds a key that is configured under another name than --kid says.`]);
  }
  return { key: same.key, made: false, configured: plannedKey(same) };
}

function plannedNext(key: PublicHalf, path: string, isNamed: boolean, settings: SettingSources): PlannedKey {
  return { index: freeIndex(settings), kid: key.keyId, source: { kind: 'path', path }, isNamed, canSign: true };
}

function plannedKey({ choice, key }: ConfiguredKey): PlannedKey {
  const { index, source, kid } = choice;
  return { index, kid: key.keyId, source, isNamed: kid !== undefined, canSign: canSign(key) };
}

/** Shows the public half of every configured key. */
export async function keysShow({ as, kid }: ShowRequest, overrides: readonly SettingArgument[]): Promise<number> {
  return runReport(async () => {
    const settings = validSection(processSettings(overrides), 'Service:Signing');
    const { keys, signingKeys } = await configuredSigningKeys(settings);
    if (as === 'pem') {
      const named = kid === undefined ? keys : [keyNamed(keys, kid)];
      // HAProxy reads only the first key of a file.
      const isFormer = ({ key }: ConfiguredKey) => Number(key.keyId !== signingKeys.checkpoints.kid);
      const ordered = named.toSorted((one, other) => isFormer(one) - isFormer(other));
      await writeOutput(ordered.map(({ key }) => publicPem(key)).join(''));
      return exitCode.done;
    }
    const shown = keys.map(async ({ choice, key }) => ({
      kid: key.keyId,
      thumbprint: await thumbprintOf(key),
      setting: choice.setting,
      role: roleOf(key, signingKeys.checkpoints.kid),
    }));
    process.stdout.write(renderKeys(await Promise.all(shown), signingKeys.published(), as === 'json'));
    return exitCode.done;
  });
}

/** @throws StartupError if no configured key has the name */
function keyNamed(keys: readonly ConfiguredKey[], kid: string): ConfiguredKey {
  const found = keys.find(({ key }) => key.keyId === kid);
  if (found === undefined) throw new StartupError(['--kid names no configured key; mandate keys show lists them.']);
  return found;
}

function roleOf(key: PublicHalf, activeKid: string): ShownKey['role'] {
  if (key.keyId === activeKid) return 'signs';
  return canSign(key) ? 'published' : 'public_half';
}

/**
 * Replaces the file of a former key by its public half, in one step: the key still verifies, and cannot sign.
 */
export async function keysRetire(request: RetireRequest, overrides: readonly SettingArgument[]): Promise<number> {
  return runReport(async () => {
    const { keys, signingKeys } = await configuredSigningKeys(
      validSection(processSettings(overrides), 'Service:Signing'),
    );
    const { choice, key } = keyNamed(keys, request.kid);
    if (key.keyId === signingKeys.checkpoints.kid) {
      throw new StartupError([
        `${choice.setting} is the key that signs. Rotate first, on every replica: mandate keys rotate.`,
      ]);
    }
    if (!canSign(key)) throw new StartupError([`${choice.setting} holds only the public half already.`]);
    if (choice.source.kind === 'pem') {
      await writeOutput(publicPem(key));
      throw new StartupError([
        `${choice.setting} is a text, not a file. Replace it yourself, on every replica, by the public half, which is on standard output.`,
      ]);
    }
    const { path } = choice.source;
    await withKeyFile(path, () => replaceByPublicHalf(path, publicPem(key)));
    const thumbprint = await thumbprintOf(key);
    const about = { kid: key.keyId, thumbprint, file: path, publicJwk: key.publicJwk };
    process.stdout.write(renderRetirement(about, choice.setting, request.json));
    return exitCode.done;
  });
}
