import { createReadStream } from 'node:fs';
import { exitCode } from '../../adapters/cli/command.ts';
import { type ArchiveRequest, renderArchived } from '../../adapters/cli/commands/audit-archive.ts';
import {
  NOT_INTACT,
  renderReport,
  type VerificationReport,
  type VerifyRequest,
} from '../../adapters/cli/commands/audit-verify.ts';
import { renderBundleReport } from '../../adapters/cli/commands/bundle-report.ts';
import { progressBar } from '../../adapters/cli/progress-bar.ts';
import type { SettingArgument } from '../../adapters/cli/setting-arguments.ts';
import { exportFolder, storedExport } from '../../adapters/platform/export-folder.ts';
import { eventLoopTurn, systemClock } from '../../adapters/platform/system-clock.ts';
import { sha256Bytes } from '../../adapters/platform/system-crypto.ts';
import { type BundleVerdict, verifyBundle } from '../../adapters/sdk/audit/bundle.ts';
import { openPostgresArchives } from '../../adapters/storage/postgres/archives.ts';
import { type ArchiveOutcome, archive } from '../../application/ledger/archive.ts';
import { type LedgerVerification, verifyLedger } from '../../application/ledger/verify.ts';
import { verifyExport } from '../../application/ledger/verify-export.ts';
import type { Clock } from '../../application/ports/runtime.ts';
import type { Log } from '../../application/ports/telemetry.ts';
import { cutoffMonth, describeStop } from '../../domain/ledger/archiving.ts';
import type { Month } from '../../domain/ledger/time-range.ts';
import { parseBundlePolicy } from '../../domain/log/bundle-policy.ts';
import { refuseUnusableConnection } from '../database-refusals.ts';
import { databaseChoice } from '../settings/alternatives.ts';
import type { SettingSources } from '../settings/given-settings.ts';
import { readSettingsSection } from '../settings/read-settings.ts';
import { StartupError } from '../startup-error.ts';
import { auditorKeys, knownKeys, openLedger, recordedJwks, refuseOtherSchema, textOfFile } from './audit-sources.ts';
import { printError, processSettings, runReport, validSection } from './run-command.ts';

/** Verifies the ledger or an export, and prints the result (specification "Ledger and seal"). */
export async function auditVerify(request: VerifyRequest, overrides: readonly SettingArgument[]): Promise<number> {
  return runReport(async (log) => {
    if (request.bundle !== undefined) return bundleReport(request.bundle, request.policy, request.json);
    const bar = progressBar(process.stderr, () => performance.now());
    const means = {
      hash: sha256Bytes,
      verifier: await auditorKeys(request.jwks, processSettings(overrides)),
      turn: eventLoopTurn,
      marks: request.marks,
      interval: sealingInterval(processSettings(overrides)),
      progress: process.stderr.isTTY ? bar.show : undefined,
    };
    try {
      const report =
        request.archive === undefined
          ? await ledgerReport(means, { overrides, log, recordedKeys: request.recordedKeys })
          : await exportReport(request.archive, means);
      bar.clear();
      process.stdout.write(renderReport(report, request.json));
      return report.kind === 'broken' ? NOT_INTACT : exitCode.done;
    } finally {
      bar.clear();
    }
  });
}

/** Reads no setting, and uses no network. */
async function bundleReport(path: string, policyPath: string | undefined, json: boolean): Promise<number> {
  const policy = policyPath === undefined ? undefined : await textOfFile(policyPath, '--policy');
  const demands = policy === undefined ? undefined : parseBundlePolicy(sha256Bytes, policy);
  if (typeof demands === 'string') throw new StartupError([demands]);
  const verdict = await verdictOn(path, policy);
  process.stdout.write(renderBundleReport(verdict, policy !== undefined, json));
  return verdict.verified ? exitCode.done : NOT_INTACT;
}

class NotUtf8 extends Error {
  override readonly name = 'NotUtf8';
}

async function verdictOn(path: string, policy: string | undefined): Promise<BundleVerdict> {
  try {
    return await verifyBundle(textOfBundle(path), { policy });
  } catch (error) {
    if (!(error instanceof NotUtf8)) throw error;
    return { verified: false, fault: 'malformed', line: undefined, message: error.message };
  }
}

/** A byte that is no UTF-8 must not read as another one. */
async function* textOfBundle(path: string): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const decoded = (bytes?: Uint8Array) => {
    try {
      return decoder.decode(bytes, { stream: bytes !== undefined });
    } catch {
      throw new NotUtf8('The text of the file is not UTF-8.');
    }
  };
  try {
    for await (const bytes of createReadStream(path) as AsyncIterable<Uint8Array>) yield decoded(bytes);
    yield decoded();
  } catch (error) {
    if (error instanceof NotUtf8) throw error;
    throw new StartupError(['--bundle names a file that cannot be read.']);
  }
}

type Means = Omit<LedgerVerification, 'ledger'>;

interface LedgerAccess {
  readonly overrides: readonly SettingArgument[];
  readonly log: Log;
  readonly recordedKeys: boolean;
}

async function ledgerReport(means: Means, { overrides, log, recordedKeys }: LedgerAccess): Promise<VerificationReport> {
  const settings = validSection(processSettings(overrides), 'Service:Database');
  const storage = await openLedger(settings, log);
  try {
    const recorded = recordedKeys ? knownKeys(recordedJwks(await storage.transparencyLog.keys())) : [];
    const outcome = await verifyLedger({ ...means, ledger: storage.checkpoints, recorded });
    if (outcome.kind === 'intact') return { ...outcome, kind: 'ledger' };
    const { fault, lastMark, counts } = outcome;
    const { checkpoints, records, archived } = counts;
    return { kind: 'broken', fault, verified: { checkpoints, records, archived, lastMark } };
  } finally {
    await storage.close();
  }
}

async function exportReport(path: string, means: Means): Promise<VerificationReport> {
  const verdict = await verifyExport(storedExport(path), means);
  if (verdict.kind === 'broken') {
    const { last, ...counts } = verdict.verified;
    return { kind: 'broken', fault: verdict.fault, verified: { ...counts, lastMark: last } };
  }
  const { header, first, last, late } = verdict;
  return { ...header, kind: 'export', firstCheckpoint: first?.checkpointId, lastMark: last, late };
}

/** Only a warning depends on it: if the settings are unreadable, the default counts. */
function sealingInterval(settings: SettingSources): number | undefined {
  for (const sources of [settings, NO_SETTINGS]) {
    const read = readSettingsSection(sources, 'Service:Audit:Checkpoint');
    if (read.kind === 'valid') return read.settings['Service:Audit:Checkpoint:Interval'];
  }
  return undefined;
}

const NO_SETTINGS: SettingSources = { environment: {}, overrides: [] };

/** Exports whole months and drops them (specification "Ledger and seal"). */
export async function auditArchive(request: ArchiveRequest, overrides: readonly SettingArgument[]): Promise<number> {
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
