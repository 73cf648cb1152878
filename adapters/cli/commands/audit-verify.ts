import { formatMark, type Mark, parseMark } from '../../../domain/ledger/checkpoint.ts';
import type { Month } from '../../../domain/ledger/time-range.ts';
import { describeExportFault, type ExportFault } from '../../../domain/ledger/verification.ts';
import { visibleJson, visibleText } from '../../../domain/visible.ts';
import { flag, type KeySource, once, readKeySource } from '../argument.ts';
import { type Command, command, counted, exitCode } from '../command.ts';
import type { SettingArgument } from '../setting-arguments.ts';

export interface VerifyRequest {
  readonly marks: readonly Mark[];
  /** The file to verify instead of the ledger. */
  readonly archive: string | undefined;
  /** The evidence bundle to verify instead of the ledger. */
  readonly bundle: string | undefined;
  /** The policy that the bundle must meet: a file. */
  readonly policy: string | undefined;
  /** `undefined`: the configured keys. */
  readonly jwks: KeySource | undefined;
  readonly json: boolean;
}

/** @param run verifies, reports, and resolves with the exit code */
export function auditVerifyCommand(
  run: (request: VerifyRequest, settings: readonly SettingArgument[]) => Promise<number>,
): Command {
  return command({
    usage: 'audit-verify [marks]',
    summary: 'Verify the seal of the ledger, of an export, or of an evidence bundle',
    examples: [
      {
        line: 'audit-verify',
        meaning: 'Verify the whole ledger; the last line is a mark to keep. Reads Service:Database and Service:Signing',
      },
      { line: 'audit-verify 7:ROOT,9:ROOT', meaning: 'The same, and check kept marks' },
      {
        line: 'audit-verify --archive FILE --jwks https://mandate.example/.well-known/jwks.json',
        meaning: 'Verify only an export, without any setting',
      },
      {
        line: 'audit-verify --bundle evidence.json --policy policy.json',
        meaning: 'Verify only an evidence bundle, without any setting or network',
      },
    ],
    exitCodes: {
      [exitCode.done]: 'the seal is intact',
      [exitCode.failed]: 'the ledger, the file or the keys could not be read',
      [exitCode.usage]: 'an argument is malformed',
      [NOT_INTACT]: 'the seal is not intact, or the policy is not met: the report names the first fault',
    },
    options: (parser) =>
      parser
        .positional('marks', {
          type: 'string',
          describe: 'Marks of earlier runs, comma-separated, each a checkpoint id, a colon and a root',
          coerce: once('The list of marks', readMarks),
        })
        .option('archive', {
          type: 'string',
          describe: 'Verify this export instead of the ledger',
          coerce: once('--archive', (path) => path),
        })
        .option('jwks', {
          type: 'string',
          describe: 'The published keys: a file or an https URL. By default the configured signing keys',
          coerce: once('--jwks', readKeySource),
        })
        .option('bundle', {
          type: 'string',
          describe: 'Verify this evidence bundle instead of the ledger',
          coerce: once('--bundle', (path) => path),
        })
        .option('policy', {
          type: 'string',
          describe: 'A JSON file with the keys that the bundle must be signed with',
          coerce: once('--policy', (path) => path),
        })
        .option('json', { ...flag, describe: 'Report as one JSON object' })
        .check(({ marks, archive, jwks, bundle, policy }) => {
          if (bundle === undefined) return policy === undefined || '--policy is for --bundle.';
          const others = [marks, archive, jwks].filter((each) => each !== undefined);
          return others.length === 0 || 'A bundle has its own keys. Marks, --archive and --jwks are not for --bundle.';
        }),
    run: ({ marks, archive, bundle, policy, jwks, json }, settings) =>
      run({ marks: marks ?? [], archive, bundle, policy, jwks, json }, settings),
  });
}

function readMarks(text: string): readonly Mark[] {
  return text.split(',').map((each) => {
    const mark = parseMark(each);
    if (mark === undefined) {
      throw new Error('A mark is a checkpoint id, a colon and a root of 64 lowercase hexadecimal digits.');
    }
    return mark;
  });
}

/** The exit code if the seal is not intact. */
export const NOT_INTACT = 3;

export type VerificationReport =
  | {
      readonly kind: 'ledger';
      readonly counts: {
        readonly checkpoints: number;
        readonly records: number;
        /** Checkpoints whose records were archived. */
        readonly archived: number;
        /** Records that no checkpoint covers yet. */
        readonly unsealed: number;
      };
      /** Keys that are no longer published, and that the ledger itself names. */
      readonly recorded: readonly { readonly kid: string; readonly thumbprint: string }[];
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
      /** The verified part before the fault. */
      readonly verified: {
        readonly checkpoints: number;
        readonly records: number;
        /** Checkpoints whose records were archived. An export has none. */
        readonly archived?: number;
        readonly lastMark: Mark | undefined;
      };
    };

/** Renders sentences for a person, or one JSON object for a program. The text ends with a line feed. */
export function renderReport(report: VerificationReport, json: boolean): string {
  // A key id comes from the data that is verified.
  return `${json ? visibleJson(JSON.stringify(asJson(report))) : asText(report).map(visibleText).join('\n')}\n`;
}

function asText(report: VerificationReport): readonly string[] {
  if (report.kind === 'broken') return brokenText(report);
  const mark = report.lastMark === undefined ? [] : [formatMark(report.lastMark)];
  return [...(report.kind === 'ledger' ? ledgerText(report) : exportText(report)), ...mark];
}

/** The mark is part of a sentence: on its own line it would look like the last line of an intact run. */
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

function ledgerText({
  counts,
  recorded,
  lastMark,
}: VerificationReport & { readonly kind: 'ledger' }): readonly string[] {
  const { checkpoints, records, archived, unsealed } = counts;
  return [
    lastMark === undefined
      ? 'The seal is intact: there is no checkpoint yet.'
      : `The seal is intact: ${verified(checkpoints, records)}.`,
    ...recorded.map(
      ({ kid, thumbprint }) =>
        `The key ${kid} is no longer published. The ledger names it, with the thumbprint ${thumbprint}.`,
    ),
    ...archivedText(archived),
    ...(unsealed > 0 ? [`Not sealed yet, so not verified: ${counted(unsealed, 'record')}.`] : []),
  ];
}

/** Checkpoints removed at either end of an export are not noticed: the rest still verifies. */
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
    const { recorded } = report;
    return {
      ...{ intact: true, checkpoints, records, archived_checkpoints: archived, unsealed_records: unsealed },
      ...(recorded.length === 0 ? {} : { recorded_keys: recorded }),
      last,
    };
  }
  const { month, checkpoints, records, firstCheckpoint } = report;
  return { intact: true, month, checkpoints, records, first_checkpoint: firstCheckpoint ?? null, last };
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
