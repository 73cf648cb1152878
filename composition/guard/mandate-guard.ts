#!/usr/bin/env node
/** `mandate-guard` of @mandate/tool-server: as `mandate guard`, for those who do not install the service. */

import { parseArgs } from 'node:util';
import { exitCode } from '../../adapters/cli/exit-code.ts';
import { type GuardRequest, readProbe, runGuard } from './run-guard.ts';

const USAGE = `Usage: mandate-guard --config guard.yaml [--check] [--probe URL]

  --config  The file of the guard, in YAML
  --check   Check the file, name overlapping routes, and end
  --probe   Warn if this address answers a request without a token: where others would reach the upstream

Exit codes:
  0  stopped by SIGTERM or SIGINT; with --check the file can be used
  1  could not start: standard error says why
  2  an argument is malformed, or the file has faults: standard error names each with its line
`;

/** @throws Error for an argument that is malformed */
function readLine(line: string[]): GuardRequest | undefined {
  const { config, check, probe, help } = parseArgs({
    args: line,
    options: {
      config: { type: 'string' },
      check: { type: 'boolean', default: false },
      probe: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  }).values;
  if (help) return undefined;
  if (config === undefined || config === '') throw new Error('--config is missing.');
  return { config, check, probe: probe === undefined ? undefined : readProbe(probe) };
}

async function run(line: string[]): Promise<number> {
  let request: GuardRequest | undefined;
  try {
    request = readLine(line);
  } catch {
    // The error may quote an argument.
    process.stderr.write(USAGE);
    return exitCode.usage;
  }
  if (request !== undefined) return runGuard(request);
  process.stdout.write(USAGE);
  return exitCode.done;
}

process.exitCode = await run(process.argv.slice(2));
