import { exitCode } from '../../adapters/cli/exit-code.ts';
import type { SettingArgument } from '../../adapters/cli/setting-arguments.ts';
import { startService } from '../service.ts';
import { chosenSigningKeys } from '../settings/alternatives.ts';
import type { SettingSources } from '../settings/given-settings.ts';
import { readSettings, readSettingsSection } from '../settings/read-settings.ts';
import { configuredSigningKeys } from '../signing.ts';
import { StartupError } from '../startup-error.ts';
import { untilToldToStop } from '../until-told-to-stop.ts';
import { running, sources, valid } from './running.ts';

/** Longer than a request is on its way from a client, or from a load balancer that has not noticed the stop yet. */
const LINGER_MS = 1000;

/** Runs the service until a signal asks it to stop. */
export async function serve(overrides: readonly SettingArgument[]): Promise<number> {
  return running(async (log) => {
    const given = sources(overrides);
    const read = readSettings(given);
    // Unusable keys are named together with wrong settings, not only once the settings are right.
    const settings = valid(read, log, read.kind === 'valid' ? [] : await unusableKeys(given));
    await untilToldToStop(async (told) => {
      const service = await startService(settings, { log, lingerMs: LINGER_MS });
      await told;
      await service.stop();
    });
    return exitCode.done;
  });
}

/** What keeps the configured keys from being used; nothing where what is said of them is wrong itself. */
async function unusableKeys(given: SettingSources): Promise<readonly string[]> {
  const signing = readSettingsSection(given, 'Service:Signing');
  if (signing.kind === 'invalid' || chosenSigningKeys(signing.settings).length === 0) return [];
  try {
    await configuredSigningKeys(signing.settings);
    return [];
  } catch (error) {
    if (!(error instanceof StartupError)) throw error;
    return error.reasons;
  }
}
