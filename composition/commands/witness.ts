import { exitCode } from '../../adapters/cli/command.ts';
import type {
  WitnessAcceptClockRequest,
  WitnessInitRequest,
  WitnessServeRequest,
} from '../../adapters/cli/commands/witness.ts';
import { writeOutput } from '../../adapters/cli/standard-output.ts';
import { witnessApp } from '../../adapters/http/witness/witness-app.ts';
import { newNoteKey, readNoteSigner, verifyEd25519 } from '../../adapters/jose/log-key.ts';
import { KeyFileUnusable, readKeyFile, writeKeyFile } from '../../adapters/platform/key-file.ts';
import { systemClock } from '../../adapters/platform/system-clock.ts';
import { sha256Bytes } from '../../adapters/platform/system-crypto.ts';
import { createWitnessFile, openWitnessFile, type WitnessFile } from '../../adapters/storage/witness/witness-file.ts';
import { cosignCheckpoint } from '../../application/log/cosign-checkpoint.ts';
import { witnessClock } from '../../application/log/witness-clock.ts';
import type { NoteSigner } from '../../application/ports/keys.ts';
import { instantFromSeconds, toSeconds, toShortText } from '../../domain/instant.ts';
import {
  COSIGNATURE,
  ED25519,
  formatVerifierKey,
  isTrustableName,
  parseVerifierKey,
  type VerifierKey,
} from '../../domain/log/verifier-key.ts';
import { visibleText } from '../../domain/visible.ts';
import { listen } from '../listen.ts';
import { startRecurring } from '../recurring.ts';
import { StartupError } from '../startup-error.ts';
import { printError, runCommand, runReport } from './run-command.ts';
import { untilToldToStop } from './until-told-to-stop.ts';

/** Makes the key of a witness, unless it exists, and its state file; prints its verifier key. */
export function witnessInit({ name, key: keyFile, state }: WitnessInitRequest): Promise<number> {
  return runReport(async () => {
    if (!isTrustableName(name)) {
      printError('--name must not hold a space, a plus, or a control or format character.');
      return exitCode.usage;
    }
    const { key } = (await readSigner(keyFile, name)) ?? (await makeSigner(keyFile, name));
    const vkey = formatVerifierKey(key);
    await withStateFile(state, () => createWitnessFile(state, vkey));
    process.stdout.write(`${vkey}\n`);
    return exitCode.done;
  });
}

/** Runs a witness until a signal asks it to stop. */
export function witnessServe(request: WitnessServeRequest): Promise<number> {
  return runCommand(async (log) => {
    const logKeys = request.logs.map((text) => parseVerifierKey(sha256Bytes, text));
    if (!logKeys.every((key): key is VerifierKey => key?.type === ED25519)) {
      printError('--log takes the verifier key of a log: its name, its id and its Ed25519 key, joined by plus signs.');
      return exitCode.usage;
    }
    const file = await openState(request.state);
    try {
      const signer = await signerOf(file.vkey, request);
      const clock = witnessClock({
        ...{ clock: systemClock(), monotonic: () => performance.now(), logs: file.logs, log },
        origins: logKeys.map(({ name }) => name),
      });
      const witness = { signer, logs: file.logs, logKeys, verify: verifyEd25519, hash: sha256Bytes, clock };
      await untilToldToStop(async (told) => {
        const app = witnessApp({
          cosign: (body) => cosignCheckpoint(witness, body),
          ...{ readiness: [file.readiness, clock.readiness], log },
        });
        const names = { host: '--host', port: '--port' };
        const server = await listen({ HOST: request.host, PORT: request.port }, { ...app, log }, names);
        log.info('listening', { ...server.address, witness: signer.key.name, logs: logKeys.length });
        const watching = startRecurring({ ...WATCHING, run: () => clock.watch() }, log);
        await told;
        await watching.stop();
        await server.stop(0);
      });
    } finally {
      await file.close();
    }
    return exitCode.done;
  });
}

/** A clock that is set is noticed after this time, or at the next request. */
const WATCHING = { name: 'comparing the clocks', intervalMs: 1000, firstAfterMs: 0 };

/** Lowers the times that a clock that was ahead has left in the state file. */
export function witnessAcceptClock({ state }: WitnessAcceptClockRequest): Promise<number> {
  return runReport(async () => {
    const file = await openState(state);
    try {
      const now = toSeconds(systemClock().now());
      const lowered = await file.acceptTime(now);
      const lines = lowered.map(
        ({ origin, seconds }) => `${origin}: the last time was ${dateOf(seconds)}, and is now ${dateOf(now)}.`,
      );
      const none = `No cosignature is dated after ${dateOf(now)}, the time of this machine.`;
      await writeOutput(`${visibleText((lines.length === 0 ? [none] : lines).join('\n'))}\n`);
    } finally {
      await file.close();
    }
    return exitCode.done;
  });
}

function dateOf(seconds: number): string {
  return toShortText(instantFromSeconds(seconds));
}

/** @throws StartupError */
async function openState(state: string): Promise<WitnessFile> {
  const file = await withStateFile(state, () => openWitnessFile(state));
  if (file === 'not_a_witness_file') throw new StartupError([`${state} is not a state file of a witness.`]);
  return file;
}

/** @param vkey of the state file @throws StartupError if the key file does not hold this key */
async function signerOf(vkey: string, { key: file, state }: WitnessServeRequest): Promise<NoteSigner> {
  const name = parseVerifierKey(sha256Bytes, vkey)?.name ?? '';
  const signer = await readSigner(file, name);
  if (signer === undefined) throw new StartupError([`${file} does not exist: mandate witness init makes it.`]);
  if (formatVerifierKey(signer.key) === vkey) return signer;
  throw new StartupError([`${file} holds another key than the one that ${state} was made for.`]);
}

/** `undefined` if there is no file. @throws StartupError */
async function readSigner(file: string, name: string): Promise<NoteSigner | undefined> {
  const pem = await readKeyFile(file).catch((error: unknown) => refuseKeyFile(file, error));
  if (pem === undefined) return undefined;
  const read = await readNoteSigner(pem, { hash: sha256Bytes, name, type: COSIGNATURE });
  if (read.kind === 'unusable') throw new StartupError([`${file} ${read.problem}.`]);
  return read.signer;
}

async function makeSigner(file: string, name: string): Promise<NoteSigner> {
  await writeKeyFile(file, newNoteKey()).catch((error: unknown) => refuseKeyFile(file, error));
  const signer = await readSigner(file, name);
  if (signer === undefined) throw new StartupError([`${file} was deleted.`]);
  return signer;
}

function refuseKeyFile(file: string, error: unknown): never {
  throw error instanceof KeyFileUnusable ? new StartupError([`${file} ${error.problem}.`]) : error;
}

const STATE_FAULTS: Readonly<Record<string, string>> = {
  EEXIST: 'exists already: a state file is never overwritten, because the witness would forget what it has cosigned',
  ENOENT:
    'does not exist. A witness that lost its state must not go on with an empty one: make a new witness with mandate witness init',
  EACCES: 'may not be read and written by this user',
};

/** @throws StartupError with the file */
async function withStateFile<Result>(file: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    const fault = STATE_FAULTS[code];
    throw fault === undefined ? error : new StartupError([`${file} ${fault}.`]);
  }
}
