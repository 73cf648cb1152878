/** `mandate audit-export`: writes sealed records as events for a SIEM. */

import { readAs, value } from '../../adapters/cli/argument.ts';
import { type Command, command } from '../../adapters/cli/command.ts';
import { exitCode } from '../../adapters/cli/exit-code.ts';
import type { SettingArgument } from '../../adapters/cli/setting-arguments.ts';
import { OutputLost, writeOutput } from '../../adapters/cli/standard-output.ts';
import { packageVersion } from '../../adapters/platform/package-version.ts';
import { eventLoopTurn } from '../../adapters/platform/system-clock.ts';
import { exportRecords } from '../../application/ledger/export-records.ts';
import { ocsfEvent } from '../../domain/ledger/ocsf-event.ts';
import type { LedgerRecord } from '../../domain/ledger/record.ts';
import { archivedPartOf, withLedger } from './audit-sources.ts';
import { printError, processSettings, runReport } from './run-command.ts';

const formats = ['ocsf'] as const;

export interface ExportRequest {
  readonly format: (typeof formats)[number];
  /** The last sequence number of the previous export; 0 exports from the beginning. */
  readonly after: number;
}

export function auditExportCommand(run = auditExport): Command {
  return command({
    examples: [
      {
        line: 'audit-export --format ocsf',
        meaning: 'Every sealed record as an event of OCSF 1.9, oldest first. Reads Service:Database',
      },
      {
        line: 'audit-export --format ocsf --after 4711',
        meaning: 'The same, from the record after number 4711: the last metadata.sequence of the previous export',
      },
    ],
    exitCodes: {
      [exitCode.done]: 'every sealed record after that number was written',
      [exitCode.failed]: 'the ledger could not be read, or the output not be written: the lines before are correct',
      [ARCHIVED]: 'records after that number have been archived and may be missing; all others were written',
      [UNKNOWN_POSITION]: 'no record with that number is sealed: nothing was written',
    },
    options: (parser) =>
      parser
        .option('format', {
          ...value('--format', readFormat),
          describe: 'The format of the events: ocsf',
          demandOption: true,
        })
        .option('after', {
          ...value('--after', readNumber),
          describe: 'The sequence number after which the export begins; by default 0',
        }),
    run: ({ format = 'ocsf', after = 0 }, settings) => run({ format, after }, settings),
  });
}

/** The exit code of an export that lacks only archived records. */
const ARCHIVED = 3;
/** The exit code if no export of this ledger can have ended at the given number. */
const UNKNOWN_POSITION = 4;

const readFormat = readAs((text) => formats.find((one) => one === text), '--format takes ocsf.');

/** Accepts the digits of `metadata.sequence` only: a number with a sign or an exponent could be read as another number. */
function readNumber(text: string): number {
  const number = /^\d{1,16}$/.test(text) ? Number(text) : undefined;
  // The next sequence number must be a safe integer too.
  if (number === undefined || number >= Number.MAX_SAFE_INTEGER) throw new Error('--after takes a sequence number.');
  return number;
}

/** Writes sealed records as events, one JSON object a line (docs/observability.md). */
async function auditExport({ after }: ExportRequest, overrides: readonly SettingArgument[]): Promise<number> {
  return runReport(async (log) => {
    const settings = processSettings(overrides);
    try {
      const exported = await withLedger(settings, log, async (storage) =>
        exportRecords(
          {
            ledger: storage.checkpoints,
            archivedPart: await archivedPartOf(storage, settings),
            turn: eventLoopTurn,
            write: (records) => writeOutput(linesOf(records)),
          },
          after,
        ),
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
    }
  });
}

/** One JSON object a line. */
function linesOf(records: readonly LedgerRecord[]): string {
  const version = packageVersion();
  return records.map((record) => `${JSON.stringify(ocsfEvent(record, version))}\n`).join('');
}
