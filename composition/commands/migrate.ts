import { exitCode } from '../../adapters/cli/exit-code.ts';
import type { SettingArgument } from '../../adapters/cli/setting-arguments.ts';
import { systemClock } from '../../adapters/system/system-clock.ts';
import { openStorage } from '../open-storage.ts';
import { readSettingsSection } from '../settings/read-settings.ts';
import { running, sources, valid } from './running.ts';

/** Creates the schema or brings it up to date. */
export async function migrate(overrides: readonly SettingArgument[]): Promise<number> {
  return running(async (log) => {
    const database = valid(readSettingsSection(sources(overrides), 'Service:Database'), undefined);
    const audit = valid(readSettingsSection(sources(overrides), 'Service:Audit'), undefined);
    const storage = await openStorage({ ...database, ...audit }, { clock: systemClock(), log });
    try {
      const applied = await storage.migrate();
      log.info(applied.length === 0 ? 'the schema is current' : 'the schema was brought up to date', {
        applied: applied.join(' '),
      });
    } finally {
      await storage.close();
    }
    return exitCode.done;
  });
}
