/**
 * The command line of the service. `serve` does not load the parser: yargs and the descriptions of all commands would
 * take a tenth of the time until the service is ready.
 */

import { execute } from '../../adapters/cli/execute.ts';
import { readServeLine } from '../../adapters/cli/serve-line.ts';

const argv = process.argv.slice(2);
const settings = readServeLine(argv);
process.exitCode =
  settings === undefined
    ? await (await import('./run-line.ts')).runLine(argv)
    : await execute(async (given) => (await import('./serve.ts')).serve(given), settings);
