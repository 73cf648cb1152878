/** `mandate migrate`: creates or updates the schema. */

import { type Command, command } from '../../adapters/cli/command.ts';
import { exitCode } from '../../adapters/cli/exit-code.ts';
import type { SettingArgument } from '../../adapters/cli/setting-arguments.ts';
import { systemClock } from '../../adapters/platform/system-clock.ts';
import { refuseUnusableConnection } from '../database-refusals.ts';
import { openStorage } from '../open-storage.ts';
import { databaseChoice } from '../settings/alternatives.ts';
import { processSettings, runCommand, validSection } from './run-command.ts';

export function migrateCommand(run = migrate): Command {
  return command({
    examples: [
      {
        line: 'migrate --Service:Database:Provider=sqlite --Service:Database:Path=mandate.db',
        meaning: 'Prepare a database file; reads only the settings Service:Database and Service:Audit:Partitions',
      },
    ],
    exitCodes: {
      [exitCode.done]: 'the schema is up to date',
      [exitCode.failed]: 'the database could not be reached or changed, or a setting is wrong',
      [exitCode.usage]: 'the command line is wrong',
    },
    options: (parser) => parser,
    run: (_options, settings) => run(settings),
  });
}

/** Creates or updates the schema. */
export async function migrate(overrides: readonly SettingArgument[]): Promise<number> {
  return runCommand(
    async (log) => {
      const settings = processSettings(overrides);
      const database = validSection(settings, 'Service:Database', log);
      // Reads only the settings that a migration uses: other wrong settings must not stop it.
      const partitions = validSection(settings, 'Service:Audit:Partitions');
      const chosen = databaseChoice(database);
      if (chosen.provider === 'postgres') await refuseUnusableConnection(chosen, 'owner');
      const storage = await openStorage({ ...database, ...partitions }, { clock: systemClock(), log });
      try {
        const applied = await storage.migrate();
        log.info(applied.length === 0 ? 'the schema is current' : 'the schema was brought up to date', {
          applied: applied.join(' '),
        });
      } finally {
        await storage.close();
      }
      return exitCode.done;
    },
    process.stdout,
    'migrating',
  );
}
