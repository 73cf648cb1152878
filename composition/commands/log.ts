import { exitCode } from '../../adapters/cli/command.ts';
import type { SettingArgument } from '../../adapters/cli/setting-arguments.ts';
import { systemClock } from '../../adapters/platform/system-clock.ts';
import { visibleText } from '../../domain/visible.ts';
import { openStorage, refuseMissingFile } from '../open-storage.ts';
import { logChoice } from '../settings/alternatives.ts';
import { readSettings } from '../settings/read-settings.ts';
import { StartupError } from '../startup-error.ts';
import { refuseOtherSchema } from './audit-sources.ts';
import { processSettings, runReport, validSettings } from './run-command.ts';

/** Stores the configured name of the transparency log. */
export async function logAdoptOrigin(overrides: readonly SettingArgument[]): Promise<number> {
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
