/** `mandate log`: the transparency log (`Service:Audit:Log`). */

import { type Command, command, commandGroup, exitCode, type Run } from '../command.ts';

/** @param adoptOrigin stores the configured origin */
export function logCommand({ adoptOrigin }: { readonly adoptOrigin: Run }): Command {
  return commandGroup('log', 'The transparency log', [
    command({
      usage: 'adopt-origin',
      summary: 'Store Service:Audit:Log:Origin as the name of the log, and sign its tree anew; ends a halt',
      examples: [
        {
          line: 'log adopt-origin --Service:Audit:Log:Origin=mandate.example/ledger-2',
          meaning:
            'Begin a log with a new name, for example after the database was restored; witnesses do not know it yet',
        },
      ],
      exitCodes: {
        [exitCode.done]: 'the name is stored',
        [exitCode.failed]: 'a setting is wrong, the log is off, or the database could not be changed',
        [exitCode.usage]: 'the command line is wrong',
      },
      options: (parser) => parser,
      run: (_options, settings) => adoptOrigin(settings),
    }),
  ]);
}
