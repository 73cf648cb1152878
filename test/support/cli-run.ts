/** Runs one command line in this process and returns its exit code and both outputs. */

import { type Command, commandGroup, type NamedCommand } from '../../adapters/cli/command.ts';
import { runCli } from '../../adapters/cli/run-cli.ts';
import { nearest } from '../../adapters/platform/nearest.ts';
import { packageVersion } from '../../adapters/platform/package-version.ts';
import { COMMANDS, runLine } from '../../composition/commands/run-line.ts';
import { capturingOutput, withEnvironment } from './captured-output.ts';
import { environmentOf } from './mandate.ts';

/** @param columns the width of the terminal; without it there is none */
export async function runCommandLine(commands: readonly NamedCommand[], argv: readonly string[], columns?: number) {
  const [out, err]: [string[], string[]] = [[], []];
  const commandLine = { commands, version: packageVersion(), page: 'docs/README.md', nearest };
  const code = await runCli(argv, commandLine, {
    columns,
    out: (text) => void out.push(text),
    writeError: (text) => err.push(text),
  });
  return { code, out: out.join(''), err: err.join('') };
}

/** Matches the refusal of a line of this command: a sentence, perhaps an example or a question, and where the help is. */
export function refusalOf(words: string): RegExp {
  const more = `( For example: mandate ${words} .+| Did you mean .+\\?)?`;
  return new RegExp(`^mandate: [A-Za-z<-].*\\.${more}\n"mandate ${words} --help" shows what there is\\.\n$`);
}

/** The command of that name as `mandate` lists it, but with these actions. */
export function commandNamed(name: string, command: Command): NamedCommand {
  const named = COMMANDS.find(({ usage }) => usage.split(' ')[0] === name);
  if (named === undefined) throw new Error(`there is no command ${name}`);
  return { ...named, load: async () => command };
}

/** A group with other commands of these names: those record what they are asked to do. */
export function groupWith(name: string, group: Command, replaced: Readonly<Record<string, Command>>): NamedCommand {
  const commands = group.commands.map((each) => {
    const command = replaced[each.usage.split(' ')[0] ?? ''];
    return command === undefined ? each : { ...each, load: async () => command };
  });
  return commandNamed(name, commandGroup(name, commands));
}

/**
 * Runs `mandate` with only these settings in its environment, as command-process.ts does, but without a process: that
 * takes ten times the CPU time. One line at a time, and none that ends its process (`doctor`).
 */
export async function runMandate(argv: readonly string[], settings: Readonly<Record<string, string | undefined>> = {}) {
  const { result, out, err } = await capturingOutput(() =>
    withEnvironment(environmentOf(settings), () => runLine(argv)),
  );
  return { code: result, out, err };
}
