/** `mandate serve`: runs the service. */

import { type Command, command } from '../../adapters/cli/command.ts';
import { exitCode } from '../../adapters/cli/exit-code.ts';
import type { SettingArgument } from '../../adapters/cli/setting-arguments.ts';
import { configuredSigningKeys } from '../files/signing.ts';
import { startService } from '../service.ts';
import { signingKeyChoices } from '../settings/alternatives.ts';
import { givenSettings, type SettingSources } from '../settings/given-settings.ts';
import { readSettings, readSettingsSection } from '../settings/read-settings.ts';
import type { SettingsSection } from '../settings/settings.ts';
import { StartupError, variableOf } from '../settings/startup-error.ts';
import { untilToldToStop } from '../until-told-to-stop.ts';
import { processSettings, runCommand, validSettings } from './run-command.ts';

export function serveCommand(run = serve): Command {
  return command({
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

/** Longer than a request takes to arrive from a client, or from a load balancer that has not noticed the stop yet. */
const LINGER_MS = 1000;

/** Runs the service until a signal asks it to stop. */
export async function serve(overrides: readonly SettingArgument[]): Promise<number> {
  return runCommand(async (log) => {
    const given = processSettings(overrides);
    const read = readSettings(given);
    // Unusable keys are reported together with wrong settings.
    const settings = validSettings(read, log, read.kind === 'valid' ? [] : await unusableKeys(given));
    await untilToldToStop(async (told) => {
      const service = await startService(settings, { log, lingerMs: LINGER_MS });
      await told;
      await service.stop();
    });
    return exitCode.done;
  });
}

/** Why the configured keys cannot be used. If the settings of one key are wrong, the other keys are still checked. */
async function unusableKeys(given: SettingSources): Promise<readonly string[]> {
  const signing = readSettingsSection(given, 'Service:Signing');
  if (signing.kind === 'valid') return unusable(signing.settings);
  const reasons = eachKeyAlone(given).map(async (alone) => {
    const key = readSettingsSection(alone, 'Service:Signing');
    return key.kind === 'valid' ? unusable(key.settings) : [];
  });
  return (await Promise.all(reasons)).flat();
}

/** For each signing key, the settings as if it were the only key: a single key needs no `ActiveKid`. */
function eachKeyAlone(given: SettingSources): readonly SettingSources[] {
  const { numbers, text } = givenSettings(given);
  return numbers('Service:Signing:Keys').map((number) => {
    const keys = ['Path', 'Pem', 'Kid'].map((field) => `Service:Signing:Keys:${number}:${field}`);
    return { environment: Object.fromEntries(keys.map((key) => [variableOf(key), text(key)])), overrides: [] };
  });
}

async function unusable(settings: SettingsSection<'Service:Signing'>): Promise<readonly string[]> {
  if (signingKeyChoices(settings).length === 0) return [];
  try {
    await configuredSigningKeys(settings);
    return [];
  } catch (error) {
    if (!(error instanceof StartupError)) throw error;
    return error.reasons;
  }
}
