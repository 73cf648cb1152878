/** `mandate audit-archive`: exports months of the ledger, and removes them. */

import { setTimeout as pause } from 'node:timers/promises';
import { flag, type KeySource, readAs, readKeySource, textValue, value } from '../../adapters/cli/argument.ts';
import { type Command, command, counted } from '../../adapters/cli/command.ts';
import { exitCode } from '../../adapters/cli/exit-code.ts';
import { progressBar } from '../../adapters/cli/progress-bar.ts';
import type { SettingArgument } from '../../adapters/cli/setting-arguments.ts';
import { exportFolder } from '../../adapters/platform/export-folder.ts';
import { eventLoopTurn, systemClock } from '../../adapters/platform/system-clock.ts';
import { sha256Bytes } from '../../adapters/platform/system-crypto.ts';
import type { ArchivedMonth } from '../../application/ledger/archive.ts';
import { type ArchiveOutcome, archive } from '../../application/ledger/archive.ts';
import type { Clock } from '../../application/ports/runtime.ts';
import type { Log } from '../../application/ports/telemetry.ts';
import { cutoffMonth, describeStop } from '../../domain/ledger/archiving.ts';
import { type Month, parseMonth } from '../../domain/ledger/time-range.ts';
import { refuseUnusableConnection } from '../database-refusals.ts';
import { databaseChoice } from '../settings/alternatives.ts';
import type { SettingSources } from '../settings/given-settings.ts';
import { StartupError } from '../settings/startup-error.ts';
import { auditorKeys, refuseOtherSchema, sealingInterval } from './audit-sources.ts';
import { printError, processSettings, runReport, validSection } from './run-command.ts';

export interface ArchiveRequest {
  /** `undefined` if the setting Service:Audit:Retention decides. */
  readonly before: Month | undefined;
  readonly directory: string;
  /** `undefined`: the configured keys. */
  readonly jwks: KeySource | undefined;
  readonly json: boolean;
}

export function auditArchiveCommand(run = auditArchive): Command {
  return command({
    examples: [
      {
        line: 'audit-archive --before 2026-11 --to /var/archive',
        meaning: 'All months up to October 2026, oldest first, a file for each',
      },
      { line: 'audit-archive --to /var/archive', meaning: 'Every month that is older than Service:Audit:Retention' },
      {
        line: 'audit-archive --to /var/archive --jwks published-keys.json',
        meaning: 'The same, verified with this key set: it may have former keys, and no private key is needed',
      },
    ],
    exitCodes: {
      [exitCode.done]: 'every such month was archived, or there was none',
      [exitCode.failed]: 'a month could not be archived and is still in the ledger: the report says why',
    },
    options: (parser) =>
      parser
        .option('before', {
          ...value('--before', readAs(parseMonth, '--before takes a month, as in 2026-11.')),
          describe: 'The first month that stays, as in 2026-11; at most the current one',
        })
        .option('to', {
          ...textValue('--to'),
          describe: 'The directory for the exports; it must exist',
          demandOption: true,
        })
        .option('jwks', {
          ...value('--jwks', readKeySource),
          describe: 'The published keys to verify with: a file or an https URL. By default the configured signing keys',
        })
        .option('json', {
          ...flag,
          describe: 'Report each archived month as one JSON object on a separate line',
        }),
    run: ({ before, to, jwks, json }, settings) => run({ before, directory: to ?? '', jwks, json }, settings),
  });
}

/** The line for an archived month: a sentence, or a JSON object. */
function renderArchived({ month, checkpoints, records, location, sha256 }: ArchivedMonth, json: boolean): string {
  if (json) return `${JSON.stringify({ month, checkpoints, records, export: location, sha256 })}\n`;
  const content = `${counted(checkpoints, 'checkpoint')} and ${counted(records, 'record')}`;
  return `${month} has left: ${content} are in ${location} (SHA-256 ${sha256}).\n`;
}

const ASKED_EVERY_MS = 1_000;

/** The service may have just sealed, so its next pass takes up to one interval. Another pass may be refused or slow. */
async function untilSealed(isSealed: () => Promise<boolean>, seconds: number): Promise<boolean> {
  const end = performance.now() + seconds * 1_000;
  for (;;) {
    if (await isSealed()) return true;
    if (performance.now() > end) return false;
    await pause(ASKED_EVERY_MS);
  }
}

/** Exports whole months and drops them (specification "Ledger and seal"). */
async function auditArchive(request: ArchiveRequest, overrides: readonly SettingArgument[]): Promise<number> {
  return runReport(async (log) => {
    const settings = processSettings(overrides);
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
  });
}

/** @throws StartupError on SQLite too */
async function ownersConnection(settings: SettingSources): Promise<string> {
  const chosen = databaseChoice(validSection(settings, 'Service:Database'));
  if (chosen.provider === 'postgres') {
    await refuseUnusableConnection(chosen, 'owner');
    return chosen.migrationConnectionString.reveal();
  }
  throw new StartupError(['On sqlite the ledger is one table without months: audit-archive is for postgres only.']);
}

function cutoffByRetention(settings: SettingSources, clock: Clock): Month | undefined {
  const audit = validSection(settings, 'Service:Audit');
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
  // The help of all commands does not wait for the driver.
  const { openPostgresArchives } = await import('../../adapters/storage/postgres/archives.ts');
  const opened = await openPostgresArchives(connectionString, log);
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
      untilSealed: (isSealed) => untilSealed(isSealed, 2 * (sealingInterval(settings) ?? 0)),
      archived(month) {
        bar.clear();
        process.stdout.write(renderArchived(month, json));
      },
      progress: process.stderr.isTTY ? bar.show : undefined,
    });
  } finally {
    bar.clear();
    await opened.close();
  }
}
