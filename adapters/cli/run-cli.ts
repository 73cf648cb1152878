/**
 * The command line (supplement "How it runs"): finds the command, refuses invalid arguments, runs the command.
 *
 * setting-arguments.ts takes the settings out of the arguments. yargs parses the rest, with the options that each
 * command declares (command.ts) and the parsers of argument.ts. execute.ts runs the command, and turns its result or
 * error into an exit code. The reports (`*-report.ts`) write the results to standard-output.ts. The commands are in
 * `composition/commands`, and a command's file is loaded when the line names it.
 */

import yargs, { type Argv } from 'yargs';
import { attachAll, exitCode, type NamedCommand, type Run } from './command.ts';
import { type CommandLineIo, execute, standardStreams } from './execute.ts';
import { DEFAULT_COMMAND } from './serve-line.ts';
import { splitSettingArguments } from './setting-arguments.ts';
import { OutputLost, REPORT_LOST } from './standard-output.ts';

/** Wide enough for the examples, and narrow enough for half a screen. */
const HELP_COLUMNS = 110;

/**
 * @param argv the arguments after the program, `process.argv.slice(2)`
 * @param version the answer to `--version` @returns the exit code, once the command has ended
 */
export async function runCli(
  argv: readonly string[],
  commands: readonly NamedCommand[],
  version: string,
  io: CommandLineIo = standardStreams,
): Promise<number> {
  const split = splitSettingArguments(argv);
  if (split.kind === 'value_missing') return refuse(io, `--${split.key} needs a value.`);

  const line = split.others.length === 0 ? [DEFAULT_COMMAND] : split.others;
  const read = await readLine(line, commands, version);
  switch (read.kind) {
    case 'refused':
      return refuse(io, read.sentence);
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
  | { readonly kind: 'refused'; readonly sentence: string };

async function readLine(line: readonly string[], commands: readonly NamedCommand[], version: string): Promise<Line> {
  const chosen: Run[] = [];
  const parser = attachAll(emptyParser(version), commands, (run) => chosen.push(run));
  let answer = '';
  try {
    // With a callback, yargs passes its output to the callback, and does not end the process.
    await parser.parseAsync([...line], {}, (_error, _arguments, output) => {
      answer = output;
    });
  } catch (error) {
    return { kind: 'refused', sentence: refusalOf(error) };
  }
  const [run] = chosen;
  if (run !== undefined) return { kind: 'chosen', run };
  // For example a command after `--`, where yargs does not look for one.
  return answer === '' ? { kind: 'refused', sentence: 'No command was given.' } : { kind: 'asked', answer };
}

function emptyParser(version: string): Argv {
  return yargs()
    .scriptName('mandate')
    .usage('$0 <command>\n\nAuthority given to one agent, for one task, by one person.')
    .epilogue(
      'Settings come from the environment, as in Service__Issuer. Each can be given to any command as\n' +
        '--Service:Issuer=…, which overrides the environment. "$0 <command> --help" says more about a command.',
    )
    .locale('en')
    .strict()
    .strictCommands()
    .help('help')
    .alias('help', 'h')
    .version(version)
    .exitProcess(false)
    .fail(false)
    .wrap(HELP_COLUMNS)
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

function refuse(io: CommandLineIo, sentence: string): number {
  io.writeError(`mandate: ${sentence} "mandate --help" shows what there is.\n`);
  return exitCode.usage;
}

/** yargs throws the sentence of a `check` as a string. These are our own, so nothing in them was typed. */
function refusalOf(error: unknown): string {
  if (typeof error === 'string') return error;
  return error instanceof Error ? asSentence(error.message) : 'Unreadable arguments.';
}

/** Misspelt names of commands or options, which may be repeated. Other text may be a misplaced secret. */
const NAMES = /^[a-z][a-z0-9-]{1,39}(, [a-z][a-z0-9-]{1,39})*$/;

/** @param message yargs' message: `Unknown command: <names>`, or a sentence without a full stop */
function asSentence(message: string): string {
  const [, what, names = ''] = /^([^:]*):(.*)$/s.exec(message) ?? [];
  const said = what === undefined || NAMES.test(names.trim()) ? message.trim() : what;
  return /[.?!]$/.test(said) ? said : `${said}.`;
}
