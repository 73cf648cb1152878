/** Shared by the commands of `mandate witness`: the key file and the state file. */

import { textValue } from '../../../adapters/cli/argument.ts';
import { readNoteSigner } from '../../../adapters/jose/log-key.ts';
import { KeyFileUnusable, readKeyFile } from '../../../adapters/platform/key-file.ts';
import { sha256Bytes } from '../../../adapters/platform/system-crypto.ts';
import type {
  createWitnessFile,
  openWitnessFile,
  WitnessFile,
} from '../../../adapters/storage/witness/witness-file.ts';
import type { NoteSigner } from '../../../application/ports/keys.ts';
import { COSIGNATURE } from '../../../domain/log/verifier-key.ts';
import { DRIVER_FAULTS } from '../../database-refusals.ts';
import { StartupError } from '../../settings/startup-error.ts';

/** A required option that names a file. @param name with its dashes */
export function fileOption(name: string, describe: string) {
  return { ...textValue(name), describe: describe, demandOption: true } as const;
}

/** @throws StartupError */
export async function openState(state: string): Promise<WitnessFile> {
  const file = await withStateFile(state, ({ openWitnessFile }) => openWitnessFile(state));
  if (file === 'not_a_witness_file') throw new StartupError([`${state} is not a state file of a witness.`]);
  return file;
}

/** `undefined` if there is no file. @throws StartupError */
export async function readSigner(file: string, name: string): Promise<NoteSigner | undefined> {
  const pem = await readKeyFile(file).catch((error: unknown) => refuseKeyFile(file, error));
  if (pem === undefined) return undefined;
  const read = await readNoteSigner(pem, { hash: sha256Bytes, name, type: COSIGNATURE });
  if (read.kind === 'unusable') throw new StartupError([`${file} ${read.problem}.`]);
  return read.signer;
}

export function refuseKeyFile(file: string, error: unknown): never {
  throw error instanceof KeyFileUnusable ? new StartupError([`${file} ${error.problem}.`]) : error;
}

const STATE_FAULTS: Readonly<Record<string, string>> = {
  EEXIST: 'exists already: a state file is never overwritten, because the witness would forget what it has cosigned',
  ENOENT:
    'does not exist. A witness that lost its state must not go on with an empty one: make a new witness with mandate witness init',
  EACCES: 'may not be read and written by this user',
};

interface StateFiles {
  readonly createWitnessFile: typeof createWitnessFile;
  readonly openWitnessFile: typeof openWitnessFile;
}

/** @throws StartupError with the file, or with the SQLite driver if that is at fault */
export async function withStateFile<Result>(
  file: string,
  work: (files: StateFiles) => Promise<Result>,
): Promise<Result> {
  try {
    // The help of all commands needs no SQLite driver, which is an optional package.
    return await work(await import('../../../adapters/storage/witness/witness-file.ts'));
  } catch (error) {
    const { driverFault } = await import('../../../adapters/storage/sqlite/driver-fault.ts');
    const ofDriver = driverFault(error);
    if (ofDriver !== undefined) throw new StartupError([DRIVER_FAULTS[ofDriver]]);
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    const fault = STATE_FAULTS[code];
    throw fault === undefined ? error : new StartupError([`${file} ${fault}.`]);
  }
}
