/** `mandate witness init` (C2SP tlog-witness v1.0.0). */

import { type Command, command } from '../../../adapters/cli/command.ts';
import { exitCode } from '../../../adapters/cli/exit-code.ts';
import { newNoteKey } from '../../../adapters/jose/log-key.ts';
import { writeKeyFile } from '../../../adapters/platform/key-file.ts';
import type { NoteSigner } from '../../../application/ports/keys.ts';
import { formatVerifierKey, isTrustableName } from '../../../domain/log/verifier-key.ts';
import { StartupError } from '../../settings/startup-error.ts';
import { printError, runReport } from '../run-command.ts';
import { fileOption, readSigner, refuseKeyFile, withStateFile } from './files.ts';

interface WitnessInitRequest {
  readonly name: string;
  /** The file of the private key, which is generated if the file does not exist. */
  readonly key: string;
  /** The new file for the memory of the witness. */
  readonly state: string;
}

export function initCommand(run = witnessInit): Command {
  return command({
    examples: [
      {
        line: 'witness init --name auditor.example/w1 --key witness.pem --state witness.db',
        meaning: 'Print the verifier key of the new witness, for the operators of logs',
      },
    ],
    exitCodes: {
      [exitCode.done]: 'the witness was made',
      [exitCode.failed]: 'the key could not be read or written, or the state file exists already',
    },
    options: (parser) =>
      parser
        .option(
          'name',
          fileOption('--name', 'The name of the witness, best an address without a scheme; no space, no plus'),
        )
        .option('key', fileOption('--key', 'The file of its Ed25519 key in PEM, generated if it does not exist'))
        .option('state', fileOption('--state', 'The new SQLite file with what it has cosigned')),
    run: ({ name, key, state }) => run({ name: name ?? '', key: key ?? '', state: state ?? '' }),
  });
}

/** Makes the key of a witness, unless it exists, and its state file; prints its verifier key. */
export function witnessInit({ name, key: keyFile, state }: WitnessInitRequest): Promise<number> {
  return runReport(async () => {
    if (!isTrustableName(name)) {
      printError('--name must not hold a space, a plus, or a control or format character.');
      return exitCode.usage;
    }
    // Without the driver of the state file no key is made either.
    const vkey = await withStateFile(state, async ({ createWitnessFile }) => {
      const { key } = (await readSigner(keyFile, name)) ?? (await makeSigner(keyFile, name));
      const made = formatVerifierKey(key);
      await createWitnessFile(state, made);
      return made;
    });
    process.stdout.write(`${vkey}\n`);
    return exitCode.done;
  });
}

async function makeSigner(file: string, name: string): Promise<NoteSigner> {
  await writeKeyFile(file, newNoteKey()).catch((error: unknown) => refuseKeyFile(file, error));
  const signer = await readSigner(file, name);
  if (signer === undefined) throw new StartupError([`${file} was deleted.`]);
  return signer;
}
