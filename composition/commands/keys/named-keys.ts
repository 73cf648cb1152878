/** Shared by the commands of `mandate keys`: the names and the files of keys. */

import type { PublicHalf } from '../../../adapters/jose/signing-key.ts';
import { KeyFileUnusable } from '../../../adapters/platform/key-file.ts';
import type { ConfiguredKey } from '../../files/signing.ts';
import { catalogue } from '../../settings/catalogue.ts';
import { givenSettings, type SettingSources } from '../../settings/given-settings.ts';
import { StartupError } from '../../settings/startup-error.ts';
import { printError } from '../run-command.ts';
import type { PlannedKey } from './rotation-plan.ts';

const SIGNING_KEYS = 'Service:Signing:Keys';

/** Prints the problem of an unusable name. */
export function isUsableKid(kid: string | undefined): boolean {
  const read = kid === undefined ? undefined : catalogue['Service:Signing:Keys:N:Kid'].type.read(kid);
  if (read?.kind !== 'wrong') return true;
  printError(`--kid ${read.problem}. Accepted: ${catalogue['Service:Signing:Keys:N:Kid'].type.accepts}.`);
  return false;
}

/** @throws StartupError with the file */
export async function withKeyFile<Result>(file: string, work: (file: string) => Promise<Result>): Promise<Result> {
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

export function plannedNext(key: PublicHalf, path: string, isNamed: boolean, settings: SettingSources): PlannedKey {
  return { index: freeIndex(settings), kid: key.keyId, source: { kind: 'path', path }, isNamed, canSign: true };
}

/** @throws StartupError if no configured key has the name */
export function keyNamed(keys: readonly ConfiguredKey[], kid: string): ConfiguredKey {
  const found = keys.find(({ key }) => key.keyId === kid);
  if (found === undefined) throw new StartupError(['--kid names no configured key; mandate keys show lists them.']);
  return found;
}
