/** The command line of `mandate-guard`: as `mandate guard`, for those who do not install the service. */

import { parseArgs } from 'node:util';
import { exitCode } from '../../adapters/cli/exit-code.ts';
import { packageVersion } from '../../adapters/platform/package-version.ts';
import { type GuardRequest, readProbe, refuseTogether, runGuard } from './run-guard.ts';

const USAGE = `Usage: mandate-guard --config guard.yaml [--check] [--approval-jwks] [--probe URL]

  --config         The file of the guard, in YAML
  --check          Check the file, name overlapping routes, and end
  --approval-jwks  Print the public key of approval_key as a key set, for the operator of Mandate, and end
  --probe          Warn if this address answers a request without a token: where others would reach the upstream
  --version        Print the version, and end

Exit codes:
  0  stopped by SIGTERM or SIGINT; with --check the file can be used; with --approval-jwks the key is printed
  1  could not start: standard error says why
  2  an argument is malformed, or the file has faults: standard error names each with its line
`;

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
