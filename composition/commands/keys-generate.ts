import { resolve } from 'node:path';
import type { GenerateRequest } from '../../adapters/cli/commands/keys.ts';
import { exitCode } from '../../adapters/cli/exit-code.ts';
import { renderNewKey, type SettingLine } from '../../adapters/cli/key-report.ts';
import type { SettingArgument } from '../../adapters/cli/setting-arguments.ts';
import { newSigningKeyPem, thumbprintOf } from '../../adapters/jose/new-signing-key.ts';
import { readSigningKey, type SigningKey } from '../../adapters/jose/signing-key.ts';
import { KeyFileUnusable, writeKeyFile } from '../../adapters/platform/key-file.ts';
import type { Secret } from '../../domain/secret.ts';
import { type PlannedKey, signingSettings } from '../rotation-plan.ts';
import { catalogue } from '../settings/catalogue.ts';
import { givenSettings, type SettingSources } from '../settings/given-settings.ts';
import { readSettingsSection } from '../settings/read-settings.ts';
import { configuredSigningKeys } from '../signing.ts';
import { StartupError } from '../startup-error.ts';
import { printError, runCommand, settingSources } from './run-command.ts';

const STANDARD_OUTPUT = '-';
const SIGNING_KEYS = 'Service:Signing:Keys';

/** Generates a signing key in a file or on standard output, and prints its settings. */
export async function keysGenerate(request: GenerateRequest, overrides: readonly SettingArgument[]): Promise<number> {
  return runCommand(
    async () => {
      if (!isUsableKid(request.kid)) return exitCode.usage;
      const { pem, key } = await makeKey(request.kid);
      const file = request.out === STANDARD_OUTPUT ? undefined : resolve(request.out);
      if (file === undefined) process.stdout.write(pem.reveal());
      else await writeKey(file, pem);
      const thumbprint = await thumbprintOf(key);
      const added = await settingsToAdd(settingSources(overrides), { key, file, isNamed: request.kid !== undefined });
      const report = renderNewKey({ kid: key.keyId, thumbprint, file, publicJwk: key.publicJwk }, added, request.json);
      // If the key is on standard output, the report is not.
      (file === undefined ? process.stderr : process.stdout).write(report);
      return exitCode.done;
    },
    { log: process.stderr },
  );
}

/** Returns the problem of an unusable name. */
export function isUsableKid(kid: string | undefined): boolean {
  const read = kid === undefined ? undefined : catalogue['Service:Signing:Keys:N:Kid'].type.read(kid);
  if (read?.kind !== 'wrong') return true;
  printError(`--kid ${read.problem}. Accepted: ${catalogue['Service:Signing:Keys:N:Kid'].type.accepts}.`);
  return false;
}

export async function makeKey(kid: string | undefined): Promise<{ readonly pem: Secret; readonly key: SigningKey }> {
  const pem = await newSigningKeyPem();
  const read = await readSigningKey(pem.reveal(), kid);
  if (read.kind === 'read') return { pem, key: read.key };
  throw new Error('A key that was just made cannot be read.');
}

/** @throws StartupError with the file */
export async function writeKey(file: string, pem: Secret): Promise<void> {
  try {
    await writeKeyFile(file, pem);
  } catch (error) {
    if (!(error instanceof KeyFileUnusable)) throw error;
    throw new StartupError([`${file} ${error.problem}.`]);
  }
}

/** The first unused number, even if the keys with other numbers are unusable. */
export function freeIndex(settings: SettingSources): number {
  const taken = givenSettings(settings).numbers(SIGNING_KEYS);
  return taken.length === 0 ? 0 : Math.max(...taken) + 1;
}

/** With several keys, ActiveKid is required: it names the key that signs now. */
async function settingsToAdd(
  settings: SettingSources,
  made: { readonly key: SigningKey; readonly file: string | undefined; readonly isNamed: boolean },
): Promise<readonly SettingLine[]> {
  const planned: PlannedKey = {
    index: freeIndex(settings),
    kid: made.key.keyId,
    isNamed: made.isNamed,
    source: { kind: 'path', path: made.file ?? '/path/to/the/file.pem' },
  };
  const isActiveNamed = givenSettings(settings).text('Service:Signing:ActiveKid') !== undefined;
  return signingSettings([planned], isActiveNamed ? undefined : await signingKid(settings));
}

/** `undefined` if there is no key yet, or the settings of the keys are unusable. */
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
