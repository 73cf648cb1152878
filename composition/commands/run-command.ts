/** Shared by all commands: reading the settings, and reporting expected errors. */

import type { Writable } from 'node:stream';
import { describeExhausted } from '../../adapters/cli/execute.ts';
import { exitCode } from '../../adapters/cli/exit-code.ts';
import type { SettingArgument } from '../../adapters/cli/setting-arguments.ts';
import { REPORT_LOST, watchReport } from '../../adapters/cli/standard-output.ts';
import { systemClock } from '../../adapters/platform/system-clock.ts';
import { DatabaseRefusal } from '../../adapters/storage/database-refusal.ts';
import { type ClosableLog, winstonLog } from '../../adapters/telemetry/winston-log.ts';
import { type Finding, failedBy } from '../../application/doctor/examine.ts';
import { StorageUnavailable } from '../../application/ports/decisions.ts';
import { type ExportProblem, ExportUnusable } from '../../application/ports/exports.ts';
import { visibleText } from '../../domain/visible.ts';
import { describeAway, describeDatabaseRefusal, type OpenedConnections } from '../database-refusals.ts';
import { describeUnknownSetting, type SettingSources, settingSources } from '../settings/given-settings.ts';
import { readSettingsSection, type SettingsResult } from '../settings/read-settings.ts';
import type { SectionName, SettingsSection } from '../settings/settings.ts';
import { describeSettingError, StartupError } from '../settings/startup-error.ts';

export function processSettings(overrides: readonly SettingArgument[]): SettingSources {
  return settingSources({ environment: process.env, overrides });
}

/** The last line, below what is missing: on a terminal it is the one that is read. */
const WHERE_TO_BEGIN =
  'No setting of this service is given. Begin with docs/getting-started.md; "mandate --help" lists the commands, and docs/configuration.md the settings.';

/** @param more further reasons, from files or addresses that the settings name @throws StartupError with all errors */
export function validSettings<Settings>(
  result: SettingsResult<Settings>,
  log?: ClosableLog,
  more: readonly string[] = [],
): Settings {
  for (const unknown of result.unknown) log?.warn(describeUnknownSetting(unknown));
  if (result.kind === 'invalid') {
    const begin = result.nothingGiven ? [WHERE_TO_BEGIN] : [];
    throw new StartupError([...result.errors.map(describeSettingError), ...more, ...begin]);
  }
  return result.settings;
}

/** The settings below `section`. @throws StartupError with all their errors */
export function validSection<Name extends SectionName>(
  sources: SettingSources,
  section: Name,
  log?: ClosableLog,
): SettingsSection<Name> {
  return validSettings(readSettingsSection(sources, section), log);
}

/** Runs a command with a report on standard output: its log goes to standard error. */
export function runReport(run: (log: ClosableLog) => Promise<number>, opened?: OpenedConnections): Promise<number> {
  return runCommand(run, process.stderr, opened);
}

/**
 * Reports the expected errors of a command, one reason per line, and never a driver's message.
 *
 * @param stream its log
 * @param opened the connections to the database that the command opens
 */
export async function runCommand(
  run: (log: ClosableLog) => Promise<number>,
  stream: Writable & { readonly isTTY?: boolean } = process.stdout,
  opened: OpenedConnections = 'serving',
): Promise<number> {
  const log = winstonLog({ clock: systemClock(), tty: stream.isTTY === true, stream });
  const isReportLost = stream === process.stdout ? async () => false : watchReport();
  try {
    const code = await run(log);
    if (!(await isReportLost())) return code;
    printError(REPORT_LOST);
    return exitCode.failed;
  } catch (error) {
    for (const reason of reasonsOf(error, log, opened)) printError(reason);
    return exitCode.failed;
  } finally {
    await log.close();
  }
}

export function printError(sentence: string): void {
  process.stderr.write(`mandate: ${visibleText(sentence)}\n`);
}

const EXPORT_PROBLEMS: Readonly<Record<ExportProblem, string>> = {
  missing: 'is not there',
  not_a_directory: 'is not a directory',
  not_permitted: 'may not be read or written by this user',
  disk_full: 'could not be written: the disk is full, or the file would be larger than is allowed',
  no_hard_links: 'cannot be linked to its name: the file system has no hard links, which prevent overwriting',
  replaced:
    'was replaced by another process while it was verified, so its month was not dropped: see that only one run uses the directory',
  failed: 'could not be read or written',
};

function reasonsOf(error: unknown, log: ClosableLog, opened: OpenedConnections): readonly string[] {
  if (error instanceof StartupError) return error.reasons;
  if (error instanceof ExportUnusable) return [`${error.location} ${EXPORT_PROBLEMS[error.problem]}.`];
  if (error instanceof DatabaseRefusal) return [describeDatabaseRefusal(error)];
  const exhausted = describeExhausted(error);
  if (exhausted !== undefined) return [exhausted];
  // The sentence says everything: a stack would only bury it.
  if (error instanceof StorageUnavailable && error.fault !== undefined) {
    return [describeAway(error.fault, error.address?.(), opened)];
  }
  log.error('the command failed', error);
  if (error instanceof StorageUnavailable) return [whatToDo(failedBy(error))];
  return ['The command failed: the log says where.'];
}

function whatToDo({ sentence, remedy = '' }: Finding): string {
  return `${sentence} ${remedy}`.trimEnd();
}
