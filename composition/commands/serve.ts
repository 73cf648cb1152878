import { exitCode } from '../../adapters/cli/exit-code.ts';
import type { SettingArgument } from '../../adapters/cli/setting-arguments.ts';
import { startService } from '../service.ts';
import { readSettings } from '../settings/read-settings.ts';
import { untilToldToStop } from '../until-told-to-stop.ts';
import { running, sources, valid } from './running.ts';

/** Runs the service until it is told to stop. */
export async function serve(overrides: readonly SettingArgument[]): Promise<number> {
  return running(async (log) => {
    const settings = valid(readSettings(sources(overrides)), log);
    const service = await startService(settings, { log });
    await untilToldToStop();
    await service.stop();
    return exitCode.done;
  });
}
