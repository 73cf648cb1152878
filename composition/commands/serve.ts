import { exitCode } from '../../adapters/cli/exit-code.ts';
import type { SettingArgument } from '../../adapters/cli/setting-arguments.ts';
import { type Surroundings, startService } from '../service.ts';
import { chosenDatabase, chosenSigningKeys } from '../settings/alternatives.ts';
import { givenSettings, type SettingSources } from '../settings/given-settings.ts';
import { readSettings, readSettingsSection, type Settings } from '../settings/read-settings.ts';
import { variableOf } from '../settings/setting-error.ts';
import type { SettingsSection } from '../settings/settings.ts';
import { configuredSigningKeys } from '../signing.ts';
import { StartupError } from '../startup-error.ts';
import { untilToldToStop } from '../until-told-to-stop.ts';
import { publishToPrimary } from '../worker-metrics.ts';
import {
  acceptFromPrimary,
  isWorker,
  leavePrimary,
  leaveSignalsToPrimary,
  superviseWorkers,
  untilPrimarySaysStop,
} from '../workers.ts';
import { running, sources, valid } from './running.ts';

/** Longer than the way from a client, or from a load balancer that has not heard yet. */
const LINGER_MS = 1000;

/**
 * Runs the service until it is told to stop.
 *
 * @param workers how many processes serve; in one of them it is not looked at
 */
export async function serve(overrides: readonly SettingArgument[], workers: number): Promise<number> {
  if (isWorker()) leaveSignalsToPrimary();
  const code = await running(async (log) => {
    const given = sources(overrides);
    const read = readSettings(given);
    // Keys that can't be used are named together with settings that are wrong, and not only once those are mended.
    const settings = valid(read, log, read.kind === 'valid' ? [] : await unusableKeys(given));
    if (isWorker())
      await serveUntil(untilPrimarySaysStop, settings, { log, accept: acceptFromPrimary, publish: publishToPrimary });
    else {
      if (workers > 1) refuseWorkers(settings);
      await untilToldToStop((told) =>
        workers === 1 ? serveUntil(() => told, settings, { log }) : superviseWorkers(workers, settings, { log, told }),
      );
    }
    return exitCode.done;
  });
  leavePrimary();
  return code;
}

/** Why the configured keys cannot be used. If a setting of one key is wrong: why each of the other keys cannot. */
async function unusableKeys(given: SettingSources): Promise<readonly string[]> {
  const signing = readSettingsSection(given, 'Service:Signing');
  if (signing.kind === 'valid') return unusable(signing.settings);
  const reasons = eachKeyAlone(given).map(async (alone) => {
    const key = readSettingsSection(alone, 'Service:Signing');
    return key.kind === 'valid' ? unusable(key.settings) : [];
  });
  return (await Promise.all(reasons)).flat();
}

/** The settings of one signing key each, as if there were no other: one key needs no `ActiveKid`. */
function eachKeyAlone(given: SettingSources): readonly SettingSources[] {
  const { numbers, text } = givenSettings(given);
  return numbers('Service:Signing:Keys').map((number) => {
    const keys = ['Path', 'Pem', 'Kid'].map((field) => `Service:Signing:Keys:${number}:${field}`);
    return { environment: Object.fromEntries(keys.map((key) => [variableOf(key), text(key)])), overrides: [] };
  });
}

async function unusable(settings: SettingsSection<'Service:Signing'>): Promise<readonly string[]> {
  if (chosenSigningKeys(settings).length === 0) return [];
  try {
    await configuredSigningKeys(settings);
    return [];
  } catch (error) {
    if (!(error instanceof StartupError)) throw error;
    return error.reasons;
  }
}

async function serveUntil(told: () => Promise<void>, settings: Settings, surroundings: Surroundings): Promise<void> {
  const service = await startService(settings, { ...surroundings, lingerMs: LINGER_MS });
  await told();
  await service.stop();
}

/** @throws StartupError where several processes would not be one service */
function refuseWorkers(settings: Settings): void {
  const reasons = [];
  if (chosenDatabase(settings).provider === 'sqlite') {
    reasons.push('--workers is for Postgres: a SQLite file is served by one process.');
  }
  if (chosenSigningKeys(settings).length === 0) {
    reasons.push(
      '--workers needs a signing key (Service:Signing:Keys:0:Path): each worker would make up one of its own.',
    );
  }
  if (reasons.length > 0) throw new StartupError(reasons);
}
