/** Runs one command line in this process and returns its exit code and both outputs. */

import type { Command } from '../../adapters/cli/command.ts';
import { runCli } from '../../adapters/cli/run-cli.ts';
import { packageVersion } from '../../adapters/platform/package-version.ts';

export async function runCommandLine(commands: readonly Command[], argv: readonly string[]) {
  const [out, err]: [string[], string[]] = [[], []];
  const code = await runCli(argv, commands, packageVersion(), {
    out: (text) => void out.push(text),
    writeError: (text) => err.push(text),
  });
  return { code, out: out.join(''), err: err.join('') };
}
