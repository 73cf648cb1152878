import { type Command, command, exitCode } from '../command.ts';
import type { SettingArgument } from '../setting-arguments.ts';

/** @param run resolves once the service has stopped */
export function serveCommand(run: (settings: readonly SettingArgument[]) => Promise<number>): Command {
  return command({
    usage: 'serve',
    summary: 'Run the service until a signal stops it (the default without a command)',
    examples: [
      {
        line: 'serve --Service:Issuer=https://mandate.example',
        meaning: 'Run with the settings of the environment, and this one',
      },
    ],
    exitCodes: {
      [exitCode.done]: 'stopped by SIGTERM or SIGINT, with everything under way finished',
      [exitCode.failed]: 'could not start, or not continue: standard error says why',
      [exitCode.usage]: 'the command line is wrong',
    },
    options: (parser) => parser,
    run: (_options, settings) => run(settings),
  });
}
