/** Runs the command that was chosen on the command line. */

import type { Run } from './command.ts';
import { exitCode } from './exit-code.ts';
import type { SettingArgument } from './setting-arguments.ts';
import { writeReport } from './standard-output.ts';

export interface CommandLineIo {
  /** @throws OutputLost */
  readonly out: (text: string) => void | Promise<void>;
  readonly writeError: (text: string) => void;
  /** The width of the terminal that `out` writes to; `undefined` if `out` is no terminal. */
  readonly columns?: number | undefined;
}

export const standardStreams: CommandLineIo = {
  out: writeReport,
  writeError: (text) => process.stderr.write(text),
  columns: process.stdout.columns,
};

/** @returns the exit code, after the command has ended */
export async function execute(
  run: Run,
  settings: readonly SettingArgument[],
  io: CommandLineIo = standardStreams,
): Promise<number> {
  try {
    return await run(settings);
  } catch (error) {
    // Commands report expected errors. The message of any other error is not shown: it may quote a secret.
    const kind = error instanceof Error ? error.constructor.name : typeof error;
    io.writeError(`mandate: ${describeExhausted(error) ?? `the command failed (${kind}).`}\n`);
    return exitCode.failed;
  }
}

/** @returns a sentence if the process could not open one more file or connection, otherwise `undefined` */
export function describeExhausted(error: unknown): string | undefined {
  switch (error instanceof Error && 'code' in error ? error.code : undefined) {
    case 'EMFILE':
      return 'This process may not open more files: raise its limit (ulimit -n).';
    case 'ENFILE':
      return 'This machine has no more files to open: raise the limit of the system (sysctl fs.file-max).';
    default:
      return undefined;
  }
}
