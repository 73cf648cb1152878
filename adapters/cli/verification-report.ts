/** What `audit-verify` prints: sentences for a person, or one JSON object for a program. */

import { formatMark, type Mark } from '../../domain/ledger/checkpoint.ts';
import { describeExportFault, type ExportFault } from '../../domain/ledger/export-fault.ts';
import type { Month } from '../../domain/ledger/month.ts';

/** The exit code of a seal that is not intact. */
export const NOT_INTACT = 3;

export type VerificationReport =
  | {
      readonly kind: 'ledger';
      readonly counts: {
        readonly checkpoints: number;
        readonly records: number;
        /** Checkpoints whose records have left. */
        readonly archived: number;
        /** Records that no checkpoint covers yet. */
        readonly unsealed: number;
      };
      readonly lastMark: Mark | undefined;
    }
  | {
      readonly kind: 'export';
      readonly month: Month;
      readonly checkpoints: number;
      readonly records: number;
      readonly firstCheckpoint: number | undefined;
      readonly lastMark: Mark | undefined;
    }
  | { readonly kind: 'broken'; readonly fault: ExportFault };

/** With its line feed. */
export function renderReport(report: VerificationReport, json: boolean): string {
  return `${json ? JSON.stringify(asJson(report)) : asText(report).join('\n')}\n`;
}

function asText(report: VerificationReport): readonly string[] {
  if (report.kind === 'broken') return [`The seal is not intact. ${describeExportFault(report.fault)}`];
  const mark = report.lastMark === undefined ? [] : [formatMark(report.lastMark)];
  return [...(report.kind === 'ledger' ? ledgerText(report) : exportText(report)), ...mark];
}

function ledgerText({ counts, lastMark }: VerificationReport & { readonly kind: 'ledger' }): readonly string[] {
  const { checkpoints, records, archived, unsealed } = counts;
  return [
    lastMark === undefined
      ? 'The seal is intact: there is no checkpoint yet.'
      : `The seal is intact: ${verified(checkpoints, records)}.`,
    ...(archived > 0
      ? [
          `The records of ${counted(archived, 'checkpoint')} have been archived: their exports are verified with --archive.`,
        ]
      : []),
    ...(unsealed > 0 ? [`Not sealed yet, so nothing is said of: ${counted(unsealed, 'record')}.`] : []),
  ];
}

/** Checkpoints can be cut off at either end of an export, and what is left is as sound as before. */
const WHOLE = 'That nothing was cut off shows by its SHA-256, which the record audit.archived names, or by a mark.';

function exportText(report: VerificationReport & { readonly kind: 'export' }): readonly string[] {
  const { month, checkpoints, records, firstCheckpoint: first } = report;
  if (first === undefined)
    return [`The export of ${month} is intact: it says that there was nothing to export.`, WHOLE];
  return [
    `The export of ${month} is intact: ${verified(checkpoints, records)}.`,
    ...(first > 1
      ? [`It begins with checkpoint ${first}: whether that links to checkpoint ${first - 1} shows only in the ledger.`]
      : []),
    WHOLE,
  ];
}

function verified(checkpoints: number, records: number): string {
  return `${counted(checkpoints, 'checkpoint')} and ${counted(records, 'record')} verified`;
}

/** A number of things. */
export function counted(number: number, thing: string): string {
  return `${number} ${thing}${number === 1 ? '' : 's'}`;
}

function asJson(report: VerificationReport): Record<string, unknown> {
  if (report.kind === 'broken') {
    const { kind, ...about } = report.fault;
    const members = Object.entries(about).map(([name, value]) => [snakeCase(name), value]);
    return {
      intact: false,
      fault: { kind, ...Object.fromEntries(members), sentence: describeExportFault(report.fault) },
    };
  }
  const last = report.lastMark === undefined ? null : formatMark(report.lastMark);
  if (report.kind === 'ledger') {
    const { checkpoints, records, archived, unsealed } = report.counts;
    return { intact: true, checkpoints, records, archived_checkpoints: archived, unsealed_records: unsealed, last };
  }
  const { month, checkpoints, records, firstCheckpoint } = report;
  return { intact: true, month, checkpoints, records, first_checkpoint: firstCheckpoint ?? null, last };
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
