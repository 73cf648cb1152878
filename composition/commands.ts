/** What the commands of the command line do, from their settings to their exit code. */

import { exitCode } from '../adapters/cli/exit-code.ts';
import type { SettingArgument } from '../adapters/cli/setting-arguments.ts';
import { type ClosableLog, winstonLog } from '../adapters/logging/winston-log.ts';
import { systemClock } from '../adapters/system/system-clock.ts';
import { StorageUnavailable } from '../application/ports/storage-unavailable.ts';
import { openStorage } from './open-storage.ts';
import { startService } from './service.ts';
import { describeUnknownSetting, type SettingSources } from './settings/given-settings.ts';
import { readSettings, readSettingsSection, type SettingsResult } from './settings/read-settings.ts';
import { describeSettingError } from './settings/setting-error.ts';
import { StartupError } from './startup-error.ts';
import { untilToldToStop } from './until-told-to-stop.ts';

/** Runs the service until it is told to stop. */
export async function serve(overrides: readonly SettingArgument[]): Promise<number> {
  return running(async (log) => {
    const settings = valid(readSettings(sources(overrides)), log);
    const service = await startService(settings, { log });
    await untilToldToStop();
    await service.stop();
  });
}

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
  });
}

function sources(overrides: readonly SettingArgument[]): SettingSources {
  return { environment: process.env, overrides };
}

/** @throws StartupError with every error at once */
function valid<Settings>(result: SettingsResult<Settings>, log: ClosableLog | undefined): Settings {
  for (const unknown of result.unknown) log?.warn(describeUnknownSetting(unknown));
  if (result.kind === 'invalid') throw new StartupError(result.errors.map(describeSettingError));
  return result.settings;
}

/** Reports what a command expects to go wrong, each reason on a line of its own, and never by a driver's message. */
async function running(run: (log: ClosableLog) => Promise<void>): Promise<number> {
  const log = winstonLog({ clock: systemClock(), tty: process.stdout.isTTY === true });
  try {
    await run(log);
    return exitCode.done;
  } catch (error) {
    for (const reason of reasonsOf(error, log)) process.stderr.write(`mandate: ${reason}\n`);
    return exitCode.failed;
  } finally {
    await log.close();
  }
}

function reasonsOf(error: unknown, log: ClosableLog): readonly string[] {
  if (error instanceof StartupError) return error.reasons;
  log.error('the command failed', error);
  if (error instanceof StorageUnavailable)
    return ['The database did not answer, or refused: the log has its error code.'];
  return ['The command failed: the log says where.'];
}
