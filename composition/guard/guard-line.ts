/** The command line of `mandate-guard`: as `mandate guard`, for those who do not install the service. */

import { parseArgs } from 'node:util';
import { exitCode } from '../../adapters/cli/exit-code.ts';
import { packageVersion } from '../../adapters/platform/package-version.ts';
import { EXIT_CODES, OPTIONS } from './guard-help.ts';
import { type GuardRequest, readProbe, refuseTogether, runGuard } from './run-guard.ts';

const SWITCHES = Object.entries({ ...OPTIONS, version: 'Print the version, and end' });

const USAGE = `Usage: mandate-guard --config guard.yaml [--check] [--approval-jwks] [--probe URL]

${column(SWITCHES.map(([name, meaning]) => [`--${name}`, meaning]))}

Exit codes:
${column(Object.entries(EXIT_CODES))}
`;

/** A line for each name and its meaning. */
function column(rows: readonly (readonly [name: string, meaning: string])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, meaning]) => `  ${name.padEnd(width)}  ${meaning}`).join('\n');
}

/** @returns the request, or what to print. @throws Error for an argument that is malformed */
function readLine(line: string[]): GuardRequest | string {
  const {
    config: [config, ...otherConfigs] = [],
    check,
    'approval-jwks': approvalJwks,
    probe: [probe, ...otherProbes] = [],
    help,
    version,
  } = parseArgs({
    args: line,
    options: {
      config: { type: 'string', multiple: true },
      check: { type: 'boolean', default: false },
      'approval-jwks': { type: 'boolean', default: false },
      probe: { type: 'string', multiple: true },
      help: { type: 'boolean', short: 'h', default: false },
      version: { type: 'boolean', default: false },
    },
  }).values;
  if (help) return USAGE;
  if (version) return `${packageVersion()}\n`;
  if (config === undefined || config === '') throw new Error('--config is missing: the file of the guard.');
  if (otherConfigs.length + otherProbes.length > 0) throw new Error('An option is given twice.');
  refuseTogether({ check, approvalJwks });
  return { config, check, approvalJwks, probe: probe === undefined ? undefined : readProbe(probe) };
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
