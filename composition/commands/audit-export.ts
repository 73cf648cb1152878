import { exitCode } from '../../adapters/cli/command.ts';
import { ARCHIVED, type ExportRequest, UNKNOWN_POSITION } from '../../adapters/cli/commands/audit-export.ts';
import type { SettingArgument } from '../../adapters/cli/setting-arguments.ts';
import { OutputLost, writeOutput } from '../../adapters/cli/standard-output.ts';
import { packageVersion } from '../../adapters/platform/package-version.ts';
import { eventLoopTurn } from '../../adapters/platform/system-clock.ts';
import { exportRecords } from '../../application/ledger/export-records.ts';
import { ocsfEvent } from '../../domain/ledger/ocsf-event.ts';
import type { LedgerRecord } from '../../domain/ledger/record.ts';
import { openLedger } from './audit-sources.ts';
import { printError, processSettings, runReport, validSection } from './run-command.ts';

/** Writes sealed records as events, one JSON object a line (docs/observability.md). */
export async function auditExport({ after }: ExportRequest, overrides: readonly SettingArgument[]): Promise<number> {
  return runReport(async (log) => {
    const storage = await openLedger(validSection(processSettings(overrides), 'Service:Database'), log);
    try {
      const exported = await exportRecords(
        { ledger: storage.checkpoints, turn: eventLoopTurn, write: (records) => writeOutput(linesOf(records)) },
        after,
      );
      if (exported.kind === 'whole') return exitCode.done;
      if (exported.kind === 'unknown_position') {
        printError(
          `The ledger has no sealed record with number ${after}, so no export of it ended there: nothing was written. After a restore from a backup, begin after the last record that the backup has.`,
        );
        return UNKNOWN_POSITION;
      }
      printError(
        `Records up to number ${exported.through} have been archived: this export may lack some after number ${after}. The files of audit-archive have them.`,
      );
      return ARCHIVED;
    } catch (error) {
      if (!(error instanceof OutputLost)) throw error;
      printError('Standard output was closed, or could not be written: the export ends before the last record.');
      return exitCode.failed;
    } finally {
      await storage.close();
    }
  });
}

/** One JSON object a line. */
function linesOf(records: readonly LedgerRecord[]): string {
  const version = packageVersion();
  return records.map((record) => `${JSON.stringify(ocsfEvent(record, version))}\n`).join('');
}
