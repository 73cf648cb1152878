/** The command line of `mandate-guard`: as `mandate guard`, for those who do not install the service. */

import { parseArgs } from 'node:util';
import { exitCode } from '../../adapters/cli/exit-code.ts';
import { packageVersion } from '../../adapters/platform/package-version.ts';
import { EXIT_CODES, type GuardOption, type GuardRequest, OPTIONS, refuseTogether } from './guard-options.ts';
import { runGuard } from './run-guard.ts';

const ROWS = Object.entries<GuardOption>(OPTIONS);
const VERSION = ['version', { meaning: 'Print the version, and end' }] as const;

const USAGE = `Usage: mandate-guard ${ROWS.map(([name, option]) => asWritten(name, option)).join(' ')}

${column([...ROWS, VERSION].map(([name, { meaning }]) => [`--${name}`, meaning]))}

Exit codes:
${column(Object.entries(EXIT_CODES))}
`;

function asWritten(name: string, { example, isRequired, isList }: GuardOption): string {
  const written = example === undefined ? `--${name}` : `--${name} ${example}`;
  return isRequired ? written : `[${written}]${isList ? '…' : ''}`;
}

/** A line for each name and its meaning. */
function column(rows: readonly (readonly [name: string, meaning: string])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, meaning]) => `  ${name.padEnd(width)}  ${meaning}`).join('\n');
}

const SWITCH = { type: 'boolean', default: false } as const;
const TEXT = { type: 'string', multiple: true } as const;
const PARSED = Object.fromEntries(ROWS.map(([name, { example }]) => [name, example === undefined ? SWITCH : TEXT]));

/** @returns the request, or what to print. @throws Error for an argument that is malformed */
function readLine(line: string[]): GuardRequest | string {
  const options = { ...PARSED, help: { ...SWITCH, short: 'h' }, version: SWITCH };
  const given: Readonly<Record<string, unknown>> = parseArgs({ args: line, options }).values;
  if (given.help) return USAGE;
  if (given.version) return `${packageVersion()}\n`;
  const [config] = [given.config].flat();
  if (config === undefined || config === '') throw new Error('--config is missing: the file of the guard.');
  const members = ROWS.map(([name, { isList, read = String }]) => {
    const { [name]: value } = given;
    if (!Array.isArray(value)) return [name, value];
    if (value.length > 1 && !isList) throw new Error('An option is given twice.');
    const values = value.map((text) => read(String(text)));
    return [name, isList ? values : values[0]];
  });
  refuseTogether(given);
  return Object.fromEntries(members);
}

/** The faults of `parseArgs`. Its own messages are not used, because they quote arguments. */
const ARGUMENT_FAULTS: Readonly<Record<string, string>> = {
  ERR_PARSE_ARGS_UNKNOWN_OPTION: 'There is no such option.',
  ERR_PARSE_ARGS_INVALID_OPTION_VALUE: 'An option lacks its value, or takes none.',
  ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL: 'An argument belongs to no option.',
};

function faultOf(error: unknown): string {
  if (!(error instanceof Error)) return 'The arguments cannot be read.';
  return 'code' in error ? (ARGUMENT_FAULTS[String(error.code)] ?? 'The arguments cannot be read.') : error.message;
}

async function run(line: string[]): Promise<number> {
  let request: GuardRequest | string;
  try {
    request = readLine(line);
  } catch (error) {
    process.stderr.write(`${faultOf(error)}\n\n${USAGE}`);
    return exitCode.usage;
  }
  if (typeof request !== 'string') return runGuard(request);
  process.stdout.write(request);
  return exitCode.done;
}

process.exitCode = await run(process.argv.slice(2));
