/** Shared by all commands: reading the settings, and reporting expected errors. */

import type { Writable } from 'node:stream';
import { exitCode } from '../../adapters/cli/command.ts';
import type { SettingArgument } from '../../adapters/cli/setting-arguments.ts';
import { systemClock } from '../../adapters/platform/system-clock.ts';
import { DatabaseRefusal } from '../../adapters/storage/database-refusal.ts';
import { type ClosableLog, winstonLog } from '../../adapters/telemetry/winston-log.ts';
import { describeUnanswered, explainFault } from '../../application/doctor/examine.ts';
import { StorageUnavailable } from '../../application/ports/decisions.ts';
import { type ExportProblem, ExportUnusable } from '../../application/ports/exports.ts';
import { visibleText } from '../../domain/visible.ts';
import { describeDatabaseRefusal } from '../database-refusals.ts';
import { describeUnknownSetting, type SettingSources, settingSources } from '../settings/given-settings.ts';
import { readSettingsSection, type SettingsResult } from '../settings/read-settings.ts';
import type { SectionName, SettingsSection } from '../settings/settings.ts';
import { describeSettingError, StartupError } from '../startup-error.ts';

export function processSettings(overrides: readonly SettingArgument[]): SettingSources {
  return settingSources({ environment: process.env, overrides });
}

/** @param more further reasons, from files or addresses that the settings name @throws StartupError with all errors */
export function validSettings<Settings>(
  result: SettingsResult<Settings>,
  log?: ClosableLog,
  more: readonly string[] = [],
): Settings {
  for (const unknown of result.unknown) log?.warn(describeUnknownSetting(unknown));
  if (result.kind === 'invalid') throw new StartupError([...result.errors.map(describeSettingError), ...more]);
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
export function runReport(run: (log: ClosableLog) => Promise<number>): Promise<number> {
  return runCommand(run, process.stderr);
}

/** Reports the expected errors of a command, one reason per line, and never a driver's message. @param stream its log */
export async function runCommand(
  run: (log: ClosableLog) => Promise<number>,
  stream: Writable & { readonly isTTY?: boolean } = process.stdout,
): Promise<number> {
  const log = winstonLog({ clock: systemClock(), tty: stream.isTTY === true, stream });
  const isReportLost = stream === process.stdout ? async () => false : watchReport();
  try {
    const code = await run(log);
    if (!(await isReportLost())) return code;
    printError('The report could not be written to standard output.');
    return exitCode.failed;
  } catch (error) {
    for (const reason of reasonsOf(error, log)) printError(reason);
    return exitCode.failed;
  } finally {
    await log.close();
  }
}

/** Watches standard output during a command's report; returns whether the report was lost. */
function watchReport(): () => Promise<boolean> {
  let isLost = false;
  process.stdout.on('error', (error) => {
    // A reader that closes the pipe early (`| head -1`) does not count as a lost report.
    if (!('code' in error && error.code === 'EPIPE')) isLost = true;
  });
  return async () => {
    await new Promise((written) => process.stdout.write('', written));
    return isLost;
  };
}

export class OutputLost extends Error {
  override readonly name = 'OutputLost';
}

/** Resolves when standard output has taken the text. @throws OutputLost */
export function writeOutput(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => {
      if (error) reject(new OutputLost('The text was not written.', { cause: error }));
      else resolve();
    });
  });
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

function reasonsOf(error: unknown, log: ClosableLog): readonly string[] {
  if (error instanceof StartupError) return error.reasons;
  if (error instanceof ExportUnusable) return [`${error.location} ${EXPORT_PROBLEMS[error.problem]}.`];
  if (error instanceof DatabaseRefusal) return [describeDatabaseRefusal(error)];
  log.error('the command failed', error);
  if (error instanceof StorageUnavailable) {
    const sentence = describeUnanswered(error);
    return [error.fault === undefined ? sentence : `${sentence} ${explainFault(error.fault)}`];
  }
  return ['The command failed: the log says where.'];
}
