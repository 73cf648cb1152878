/** Runs the command that was chosen on the command line. */

import { exitCode, type Run } from './command.ts';
import type { SettingArgument } from './setting-arguments.ts';

export interface CommandLineIo {
  readonly out: (text: string) => void;
  readonly writeError: (text: string) => void;
}

export const standardStreams: CommandLineIo = {
  out: (text) => process.stdout.write(text),
  writeError: (text) => process.stderr.write(text),
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
    io.writeError(`mandate: the command failed (${error instanceof Error ? error.constructor.name : typeof error}).\n`);
    return exitCode.failed;
  }
}
