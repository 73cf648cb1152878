/** `mandate log`: the transparency log (`Service:Audit:Log`). */

import { type Command, command, commandGroup } from '../../adapters/cli/command.ts';
import { exitCode } from '../../adapters/cli/exit-code.ts';
import type { SettingArgument } from '../../adapters/cli/setting-arguments.ts';
import { systemClock } from '../../adapters/platform/system-clock.ts';
import { visibleText } from '../../domain/visible.ts';
import { openStorage, refuseMissingFile } from '../open-storage.ts';
import { logChoice } from '../settings/alternatives.ts';
import { readSettings } from '../settings/read-settings.ts';
import { StartupError } from '../settings/startup-error.ts';
import { refuseOtherSchema } from './audit-sources.ts';
import { processSettings, runReport, validSettings } from './run-command.ts';

export function logCommand(): Command {
  return commandGroup('log', [
    {
      usage: 'adopt-origin',
      summary: 'Store Service:Audit:Log:Origin as the name of the log, and sign its tree anew; ends a halt',
      page: 'docs/log.md',
      load: async () => adoptOriginCommand(),
    },
  ]);
}

function adoptOriginCommand(): Command {
  return command({
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
    run: (_options, settings) => logAdoptOrigin(settings),
  });
}

/** Stores the configured name of the transparency log. */
async function logAdoptOrigin(overrides: readonly SettingArgument[]): Promise<number> {
  return runReport(async (log) => {
    const settings = validSettings(readSettings(processSettings(overrides)), log);
    const origin = logChoice(settings)?.origin;
    if (origin === undefined) {
      throw new StartupError(['Service:Audit:Log:Key is not set, so there is no transparency log.']);
    }
    refuseMissingFile(settings);
    const storage = await openStorage(settings, { clock: systemClock(), log });
    try {
      refuseOtherSchema(await storage.schemaStatus());
      const before = await storage.transparencyLog.state();
      await storage.transparencyLog.adoptOrigin(origin);
      const text =
        before === undefined
          ? 'There is no log yet: the next start of the service begins it.'
          : `The log ${before.origin} of ${before.size} leaves is now ${origin}. The running service signs its tree.`;
      process.stdout.write(`${visibleText(text)}\n`);
      return exitCode.done;
    } finally {
      await storage.close();
    }
  });
}
