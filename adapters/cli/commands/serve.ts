import { once } from '../argument.ts';
import { type Command, command } from '../command.ts';
import { exitCode } from '../exit-code.ts';
import type { SettingArgument } from '../setting-arguments.ts';

/** Far more than a machine has cores for; what is above is a slip of the finger. */
const MAX_WORKERS = 256;

/** @param run resolves once the service has stopped */
export function serveCommand(run: (workers: number, settings: readonly SettingArgument[]) => Promise<number>): Command {
  return command({
    usage: 'serve',
    summary: 'Run the service until it is told to stop (also with no command)',
    examples: [
      {
        line: 'serve --Service:Issuer=https://mandate.example',
        meaning: 'Run with the settings of the environment, and this one',
      },
      { line: 'serve --workers 4', meaning: 'Four processes behind one port, on a machine of four cores (Postgres)' },
    ],
    exitCodes: {
      [exitCode.done]: 'stopped by SIGTERM or SIGINT, with everything under way finished',
      [exitCode.failed]: 'could not start, or not go on: standard error says why',
      [exitCode.usage]: 'the command line is wrong',
    },
    options: (parser) =>
      parser.option('workers', {
        type: 'string',
        describe: 'How many processes serve, each an instance of its own; one that ends is replaced (Postgres)',
        coerce: once('--workers', readWorkers),
      }),
    run: ({ workers }, settings) => run(workers ?? 1, settings),
  });
}

function readWorkers(text: string): number {
  const workers = /^[1-9][0-9]{0,2}$/.test(text) ? Number(text) : Number.NaN;
  if (!(workers <= MAX_WORKERS)) throw new Error(`--workers takes a whole number from 1 to ${MAX_WORKERS}.`);
  return workers;
}
