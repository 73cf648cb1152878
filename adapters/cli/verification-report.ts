/** The output of `audit-verify`: sentences for a person, or one JSON object for a program. */

import { formatMark, type Mark } from '../../domain/ledger/checkpoint.ts';
import { describeExportFault, type ExportFault } from '../../domain/ledger/export-fault.ts';
import type { Month } from '../../domain/ledger/month.ts';

/** The exit code if the seal is not intact. */
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
  | {
      readonly kind: 'broken';
      readonly fault: ExportFault;
      /** What was verified before the fault. */
      readonly verified: {
        readonly checkpoints: number;
        readonly records: number;
        /** Checkpoints whose records have left; none in an export. */
        readonly archived?: number;
        readonly lastMark: Mark | undefined;
      };
    };

/** Returns text with a trailing line feed. */
export function renderReport(report: VerificationReport, json: boolean): string {
  return `${json ? JSON.stringify(asJson(report)) : asText(report).join('\n')}\n`;
}

function asText(report: VerificationReport): readonly string[] {
  if (report.kind === 'broken') return brokenText(report);
  const mark = report.lastMark === undefined ? [] : [formatMark(report.lastMark)];
  return [...(report.kind === 'ledger' ? ledgerText(report) : exportText(report)), ...mark];
}

/**
 * No line consists only of a mark, like the last line of an intact run: a script that keeps that line must not keep
 * this mark.
 */
function brokenText({ fault, verified }: VerificationReport & { readonly kind: 'broken' }): readonly string[] {
  const { checkpoints, records, archived = 0, lastMark } = verified;
  const text = [`The seal is not intact. ${describeExportFault(fault)}`];
  if (lastMark === undefined) return [...text, 'No checkpoint was verified before that.'];
  return [
    ...text,
    `Verified up to checkpoint ${lastMark.checkpointId}: ${countedBoth(checkpoints, records)}.`,
    ...archivedText(archived),
    `The last mark before the fault: ${formatMark(lastMark)}`,
  ];
}

function archivedText(archived: number): readonly string[] {
  if (archived === 0) return [];
  return [
    `The records of ${counted(archived, 'checkpoint')} have been archived: their exports are verified with --archive.`,
  ];
}

function ledgerText({ counts, lastMark }: VerificationReport & { readonly kind: 'ledger' }): readonly string[] {
  const { checkpoints, records, archived, unsealed } = counts;
  return [
    lastMark === undefined
      ? 'The seal is intact: there is no checkpoint yet.'
      : `The seal is intact: ${verified(checkpoints, records)}.`,
    ...archivedText(archived),
    ...(unsealed > 0 ? [`Not sealed yet, so not verified: ${counted(unsealed, 'record')}.`] : []),
  ];
}

/** Checkpoints can be removed at either end of an export, and the rest still verifies. */
const WHOLE = 'Only its SHA-256 in the record audit.archived, or a mark, proves that nothing was cut off.';

function exportText(report: VerificationReport & { readonly kind: 'export' }): readonly string[] {
  const { month, checkpoints, records, firstCheckpoint: first } = report;
  if (first === undefined)
    return [`The export of ${month} is intact: by its own header there was nothing to export.`, WHOLE];
  return [
    `The export of ${month} is intact: ${verified(checkpoints, records)}.`,
    ...(first > 1
      ? [`It begins with checkpoint ${first}: only the ledger shows whether that links to checkpoint ${first - 1}.`]
      : []),
    WHOLE,
  ];
}

function verified(checkpoints: number, records: number): string {
  return `${countedBoth(checkpoints, records)} verified`;
}

function countedBoth(checkpoints: number, records: number): string {
  return `${counted(checkpoints, 'checkpoint')} and ${counted(records, 'record')}`;
}

/** A count with its noun in the singular or plural. */
export function counted(number: number, thing: string): string {
  return `${number} ${thing}${number === 1 ? '' : 's'}`;
}

function asJson(report: VerificationReport): Record<string, unknown> {
  if (report.kind === 'broken') {
    const { kind, ...about } = report.fault;
    const members = Object.entries(about).map(([name, value]) => [snakeCase(name), value]);
    const { checkpoints, records, archived, lastMark } = report.verified;
    return {
      intact: false,
      fault: { kind, ...Object.fromEntries(members), sentence: describeExportFault(report.fault) },
      checkpoints,
      records,
      ...(archived === undefined ? {} : { archived_checkpoints: archived }),
      verified_through: lastMark === undefined ? null : formatMark(lastMark),
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
