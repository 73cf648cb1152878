/** A command of the command line: its help, its options and its action. Each command has its own file. */

import type { ArgumentsCamelCase, Argv } from 'yargs';
import { exitCode } from './exit-code.ts';
import type { SettingArgument } from './setting-arguments.ts';

/** Runs the command and resolves with the exit code. */
export type Run = (settings: readonly SettingArgument[]) => Promise<number>;

/** What a command reads from the rest of its line, and does. */
export interface Command {
  /** Lines that show its use, without `mandate`; none for a group. */
  readonly examples: readonly string[];
  /** Its own commands, if it is a group. */
  readonly commands: readonly NamedCommand[];
  /** Declares its options, its help, and its own commands if it is a group. */
  build(parser: Argv, chosen: Chosen): Argv;
  /** Called if the line names this command and is valid. */
  choose(options: ArgumentsCamelCase, chosen: Chosen): void;
}

type Chosen = (run: Run) => void;

/** A command in a list, as the help of the list shows it. The command is loaded if the line names it. */
export interface NamedCommand {
  /** The name, then the positional arguments in the syntax of yargs: `audit-verify [checkpoints]`. */
  readonly usage: string;
  readonly summary: string;
  /** The page of the documentation, which its help names. */
  readonly page: string;
  load(): Promise<Command>;
}

interface CommandDescription<Options> {
  readonly examples: readonly { readonly line: string; readonly meaning: string }[];
  /** The meaning of every possible exit code; of `exitCode.usage`, if it is another than usual. */
  readonly exitCodes: Readonly<Record<number, string>>;
  /** Declares options and arguments. Settings are accepted without a declaration. */
  readonly options: (parser: Argv) => Argv<Options>;
  run(options: ArgumentsCamelCase<Options>, settings: readonly SettingArgument[]): Promise<number>;
}

export function command<Options>(description: CommandDescription<Options>): Command {
  return {
    examples: description.examples.map(({ line }) => line),
    commands: [],
    build: (parser) => description.options(withHelp(parser, description)),
    choose: (options, chosen) =>
      chosen((settings) => description.run(options as ArgumentsCamelCase<Options>, settings)),
  };
}

function withHelp<Options>(parser: Argv, { examples, exitCodes }: CommandDescription<Options>): Argv {
  for (const { line, meaning } of examples) parser.example(`$0 ${line}`, meaning);
  const codes = Object.entries({ [exitCode.usage]: 'an argument is malformed', ...exitCodes }).map(
    ([code, meaning]) => `  ${code}  ${meaning}`,
  );
  return parser.epilogue(`Exit codes:\n${codes.join('\n')}\n`);
}

/** Groups commands under a word, as in `keys show`. @param name the word. The usage of each command does not repeat it */
export function commandGroup(name: string, commands: readonly NamedCommand[]): Command {
  const names = commands.map(nameOf).join(', ');
  return {
    examples: [],
    commands,
    build: (parser, chosen) =>
      attachAll(parser, commands, chosen)
        .demandCommand(1, `${name} needs the name of a command: ${names}`)
        .strictCommands(),
    choose: () => undefined,
  };
}

/** Adds the commands to a parser. The parser calls `chosen` if the line names one of them and is valid. */
export function attachAll(parser: Argv, commands: readonly NamedCommand[], chosen: Chosen): Argv {
  for (const { usage, summary, page, load } of commands) {
    parser.command(
      usage,
      summary,
      async (own) => (await load()).build(own, chosen).epilogue(documentedIn(page)),
      async (options) => (await load()).choose(options, chosen),
    );
  }
  return parser;
}

/** The last line of a help. */
export function documentedIn(page: string): string {
  return `Documentation: ${page}`;
}

/** The name of a command, without its positional arguments. */
export function nameOf({ usage }: NamedCommand): string {
  return usage.split(' ', 1)[0] ?? usage;
}

/** A count with its noun in the singular or plural, for a report. */
export function counted(number: number, thing: string): string {
  return `${number} ${thing}${number === 1 ? '' : 's'}`;
}
