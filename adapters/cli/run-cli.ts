/**
 * The command line (supplement "How it runs"): finds the command, refuses invalid arguments, runs the command.
 *
 * setting-arguments.ts takes the settings out of the arguments. yargs parses the rest, with the options that each
 * command declares (command.ts) and the parsers of argument.ts. refused-line.ts describes a line that yargs refused, and
 * help-layout.ts fits a help to the terminal. execute.ts runs the command, and turns its result or
 * error into an exit code. The reports (`*-report.ts`) write the results to standard-output.ts. The commands are in
 * `composition/commands`, and a command's file is loaded when the line names it.
 */

import yargs, { type Argv } from 'yargs';
import { attachAll, documentedIn, type NamedCommand, type Run } from './command.ts';
import { type CommandLineIo, execute, standardStreams } from './execute.ts';
import { exitCode } from './exit-code.ts';
import { helpLayout } from './help-layout.ts';
import { describeRefusal, meantCommand, type Nearest, unknownCommand } from './refused-line.ts';
import { DEFAULT_COMMAND } from './serve-line.ts';
import { splitSettingArguments } from './setting-arguments.ts';
import { OutputLost, REPORT_LOST } from './standard-output.ts';

interface CommandLine {
  readonly commands: readonly NamedCommand[];
  /** The answer to `--version`. */
  readonly version: string;
  /** The page of the documentation that the help of all commands names. */
  readonly page: string;
  readonly nearest: Nearest;
}

/**
 * @param argv the arguments after the program, `process.argv.slice(2)`
 * @returns the exit code, once the command has ended
 */
export async function runCli(
  argv: readonly string[],
  commandLine: CommandLine,
  io: CommandLineIo = standardStreams,
): Promise<number> {
  const split = splitSettingArguments(argv);
  if (split.kind === 'value_missing') return refuse(io, `--${split.key} needs a value.`);

  const line = split.others.length === 0 ? [DEFAULT_COMMAND] : split.others;
  const read = await readLine(line, commandLine, io);
  switch (read.kind) {
    case 'refused':
      return refuse(io, read.sentence, read.helpOf);
    case 'asked':
      return giveAnswer(io, `${read.answer}\n`);
    case 'chosen':
      return execute(read.run, split.settings, io);
  }
}

type Line =
  | { readonly kind: 'chosen'; readonly run: Run }
  /** The line asks for `--help` or `--version`. */
  | { readonly kind: 'asked'; readonly answer: string }
  /** The help of the command with the words `helpOf` says more. */
  | { readonly kind: 'refused'; readonly sentence: string; readonly helpOf: readonly string[] };

async function readLine(line: readonly string[], commandLine: CommandLine, io: CommandLineIo): Promise<Line> {
  const layout = helpLayout(io.columns);
  const chosen: Run[] = [];
  const parser = attachAll(emptyParser(commandLine, layout.wrap), commandLine.commands, (run) => chosen.push(run));
  let answer = '';
  try {
    answer = await answerOf(parser, line);
    const unknown = answer === '' ? undefined : await unknownCommand(line, commandLine.commands);
    if (unknown !== undefined) throw new Error(`Unknown command: ${unknown}`);
  } catch (error) {
    return { kind: 'refused', ...(await refusalOf(error, line, commandLine)) };
  }
  const [run] = chosen;
  if (run !== undefined) return { kind: 'chosen', run };
  // For example a command after `--`, where yargs does not look for one.
  return answer === ''
    ? { kind: 'refused', sentence: 'No command was given.', helpOf: [] }
    : { kind: 'asked', answer: layout.complete(answer) };
}

/** The help or the version, if the line asks for one; otherwise empty. */
async function answerOf(parser: Argv, line: readonly string[]): Promise<string> {
  let answer = '';
  // With a callback, yargs passes its output to the callback, and does not end the process.
  await parser.parseAsync([...line], {}, (_error, _arguments, output) => {
    answer = output;
  });
  return answer;
}

function emptyParser({ version, page }: CommandLine, columns: number | null): Argv {
  return yargs()
    .scriptName('mandate')
    .usage('$0 <command>\n\nAuthority given to one agent, for one task, by one person.')
    .epilogue(
      'Settings come from the environment, as in Service__Issuer. Each can be given to any command as ' +
        '--Service:Issuer=…, which overrides the environment. "$0 <command> --help" says more about a command.\n',
    )
    .epilogue(documentedIn(page))
    .locale('en')
    .strict()
    .strictCommands()
    .help('help')
    .alias('help', 'h')
    .version(version)
    .exitProcess(false)
    .fail(false)
    .wrap(columns)
    .parserConfiguration({
      'boolean-negation': false,
      'camel-case-expansion': false,
      'dot-notation': false,
    });
}

async function giveAnswer(io: CommandLineIo, answer: string): Promise<number> {
  try {
    await io.out(answer);
    return exitCode.done;
  } catch (error) {
    if (!(error instanceof OutputLost)) throw error;
    io.writeError(`mandate: ${REPORT_LOST}\n`);
    return exitCode.failed;
  }
}

function refuse(io: CommandLineIo, sentence: string, helpOf: readonly string[] = []): number {
  io.writeError(`mandate: ${sentence}\n"${['mandate', ...helpOf, '--help'].join(' ')}" shows what there is.\n`);
  return exitCode.usage;
}

async function refusalOf(error: unknown, line: readonly string[], commandLine: CommandLine) {
  const { commands, nearest } = commandLine;
  const meant = await meantCommand(line, commands);
  // yargs throws the sentence of a `check` as a string. These are our own, so nothing in them was typed.
  if (typeof error === 'string') return { sentence: error, helpOf: meant.words };
  if (!(error instanceof Error)) return { sentence: 'Unreadable arguments.', helpOf: meant.words };
  const options = async () => {
    const parser = attachAll(emptyParser(commandLine, null), commands, () => undefined);
    return optionsIn(await answerOf(parser, [...meant.words, '--help']));
  };
  return describeRefusal(error.message, { line, meant, options, nearest });
}

/** The options that a help shows, with their dashes. */
function optionsIn(help: string): readonly string[] {
  return [...help.matchAll(/^ +(?:-\w, )?(--[a-z][a-z0-9-]*)/gm)].map(([, option = '']) => option);
}
