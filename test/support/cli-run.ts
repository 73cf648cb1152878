/** Runs one command line in this process and returns its exit code and both outputs. */

import type { Command } from '../../adapters/cli/command.ts';
import { runCli } from '../../adapters/cli/run-cli.ts';

export async function runCommandLine(commands: readonly Command[], argv: readonly string[]) {
  const [out, complaints]: [string[], string[]] = [[], []];
  const code = await runCli(argv, commands, {
    out: (text) => out.push(text),
    writeError: (text) => complaints.push(text),
  });
  return { code, out: out.join(''), complaints: complaints.join('') };
}
