import type { ArchiveRequest } from '../../adapters/cli/commands/audit-archive.ts';
import { exitCode } from '../../adapters/cli/exit-code.ts';
import { progressBar } from '../../adapters/cli/progress-bar.ts';
import type { SettingArgument } from '../../adapters/cli/setting-arguments.ts';
import { counted } from '../../adapters/cli/verification-report.ts';
import { exportFolder } from '../../adapters/platform/export-folder.ts';
import { sha256Bytes } from '../../adapters/platform/sha256.ts';
import { systemClock } from '../../adapters/platform/system-clock.ts';
import { eventLoopTurn } from '../../adapters/platform/timers.ts';
import { openPostgresArchives } from '../../adapters/storage/postgres/archives.ts';
import { type ArchiveOutcome, type ArchivedMonth, archive } from '../../application/ledger/archive.ts';
import type { Clock } from '../../application/ports/runtime.ts';
import type { Log } from '../../application/ports/telemetry.ts';
import { cutoffMonth, describeStop } from '../../domain/ledger/archiving.ts';
import type { Month } from '../../domain/ledger/month.ts';
import { databaseChoice } from '../settings/alternatives.ts';
import type { SettingSources } from '../settings/given-settings.ts';
import { readSettingsSection } from '../settings/read-settings.ts';
import { StartupError } from '../startup-error.ts';
import { refuseUnusableConnection } from '../usable-connections.ts';
import { auditorKeys } from './auditor-keys.ts';
import { refuseOtherSchema } from './open-ledger.ts';
import { printError, runCommand, settingSources, validSettings } from './run-command.ts';

/** Exports whole months and drops them (specification "Ledger and seal"). */
export async function auditArchive(request: ArchiveRequest, overrides: readonly SettingArgument[]): Promise<number> {
  return runCommand(
    async (log) => {
      const settings = settingSources(overrides);
      const connectionString = await ownersConnection(settings);
      const clock = systemClock();
      const before = request.before ?? cutoffByRetention(settings, clock);
      if (before === undefined) {
        printError('--before YYYY-MM is required, unless Service:Audit:Retention is set.');
        return exitCode.usage;
      }
      const { months, stop } = await archiveAt(connectionString, before, request, { settings, clock, log });
      if (months === 0 && stop === undefined && !request.json) {
        process.stdout.write(`No month before ${before} is left in the ledger.\n`);
      }
      if (stop !== undefined) printError(describeStop(stop));
      return stop === undefined ? exitCode.done : exitCode.failed;
    },
    { log: process.stderr },
  );
}

/** @throws StartupError on SQLite too */
async function ownersConnection(settings: SettingSources): Promise<string> {
  const chosen = databaseChoice(validSettings(readSettingsSection(settings, 'Service:Database'), undefined));
  if (chosen.provider === 'postgres') {
    await refuseUnusableConnection(chosen, 'owner');
    return chosen.migrationConnectionString.reveal();
  }
  throw new StartupError(['On sqlite the ledger is one table without months: audit-archive is for postgres only.']);
}

function cutoffByRetention(settings: SettingSources, clock: Clock): Month | undefined {
  const audit = validSettings(readSettingsSection(settings, 'Service:Audit'), undefined);
  const retention = audit['Service:Audit:Retention'];
  return retention === undefined ? undefined : cutoffMonth(clock.now(), retention);
}

const NOT_THE_OWNER =
  'Only the role that owns the ledger can archive a month: name it in Service:Database:MigrationConnectionString (Service__Database__MigrationConnectionString).';

interface Surroundings {
  readonly settings: SettingSources;
  readonly clock: Clock;
  readonly log: Log;
}

async function archiveAt(
  connectionString: string,
  before: Month,
  { directory, jwks, json }: ArchiveRequest,
  { settings, clock, log }: Surroundings,
): Promise<ArchiveOutcome> {
  const verifier = await auditorKeys(jwks, settings);
  const bar = progressBar(process.stderr, () => performance.now());
  const opened = openPostgresArchives(connectionString, log);
  try {
    refuseOtherSchema(await opened.schemaStatus());
    if (!(await opened.isOwner())) throw new StartupError([NOT_THE_OWNER]);
    return await archive(before, {
      archives: opened.archives,
      checkpoints: opened.checkpoints,
      folder: exportFolder(directory),
      verifier,
      hash: sha256Bytes,
      turn: eventLoopTurn,
      clock,
      archived(month) {
        bar.clear();
        process.stdout.write(`${json ? archivedJson(month) : describeArchived(month)}\n`);
      },
      progress: process.stderr.isTTY ? bar.show : undefined,
    });
  } finally {
    bar.clear();
    await opened.close();
  }
}

function describeArchived({ month, checkpoints, records, location, sha256 }: ArchivedMonth): string {
  const content = `${counted(checkpoints, 'checkpoint')} and ${counted(records, 'record')}`;
  return `${month} has left: ${content} are in ${location} (SHA-256 ${sha256}).`;
}

function archivedJson({ month, checkpoints, records, location, sha256 }: ArchivedMonth): string {
  return JSON.stringify({ month, checkpoints, records, export: location, sha256 });
}
