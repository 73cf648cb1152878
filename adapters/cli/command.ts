/** A command of the command line: its help, its options and its action. Each command has its own file. */

import type { ArgumentsCamelCase, Argv } from 'yargs';
import type { SettingArgument } from './setting-arguments.ts';

/** The exit codes of every command. A command may add codes from 3 on, and lists them in its help. */
export const exitCode = {
  done: 0,
  failed: 1,
  /** The command line is wrong. The command did nothing. */
  usage: 2,
} as const;

/** Runs the command and resolves with the exit code. */
export type Run = (settings: readonly SettingArgument[]) => Promise<number>;

interface CommandDescription<Options> {
  /** The name, then the positional arguments in the syntax of yargs: `audit-verify [checkpoints]`. */
  readonly usage: string;
  readonly summary: string;
  readonly examples: readonly { readonly line: string; readonly meaning: string }[];
  /** The meaning of every possible exit code. */
  readonly exitCodes: Readonly<Record<number, string>>;
  /** Declares options and arguments. Settings are accepted without a declaration. */
  readonly options: (parser: Argv) => Argv<Options>;
  run(options: ArgumentsCamelCase<Options>, settings: readonly SettingArgument[]): Promise<number>;
}

export interface Command {
  /** Adds the command to a parser. The parser calls `chosen` if the command line names this command and is valid. */
  attach(parser: Argv, chosen: (run: Run) => void): Argv;
}

export function command<Options>(description: CommandDescription<Options>): Command {
  return {
    attach: (parser, chosen) =>
      parser.command<Options>(
        description.usage,
        description.summary,
        (parser) => description.options(withHelp(parser, description)),
        (options) => chosen((settings) => description.run(options, settings)),
      ),
  };
}

function withHelp<Options>(parser: Argv, { examples, exitCodes }: CommandDescription<Options>): Argv {
  for (const { line, meaning } of examples) parser.example(`$0 ${line}`, meaning);
  const codes = Object.entries(exitCodes).map(([code, meaning]) => `  ${code}  ${meaning}`);
  return parser.epilogue(`Exit codes:\n${codes.join('\n')}`);
}

/** Groups commands under a word, as in `keys show`. @param name the word. The usage of each command does not repeat it */
export function commandGroup(name: string, summary: string, commands: readonly Command[]): Command {
  return {
    attach: (parser, chosen) =>
      parser.command(name, summary, (group) =>
        commands
          .reduce((all, each) => each.attach(all, chosen), group)
          .demandCommand(1, 1, `${name} needs the name of a command.`)
          .strictCommands(),
      ),
  };
}

/** A count with its noun in the singular or plural, for a report. */
export function counted(number: number, thing: string): string {
  return `${number} ${thing}${number === 1 ? '' : 's'}`;
}
