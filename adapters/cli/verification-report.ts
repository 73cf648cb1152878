import { type ArchivedPart, type DepartedMonth, largestPart } from '../../domain/ledger/archived-part.ts';
import { formatMark, type Mark } from '../../domain/ledger/checkpoint.ts';
import { describeLogFault, isLogFault, type LogFault } from '../../domain/ledger/log-fault.ts';
import { VERIFIED_WITH_RECORDED_KEYS } from '../../domain/ledger/recorded-keys.ts';
import type { Month } from '../../domain/ledger/time-range.ts';
import { describeExportFault, type ExportFault, type LateSeals } from '../../domain/ledger/verification.ts';
import type { BelievedKey } from '../../domain/log/bundle-log.ts';
import { visibleJson, visibleText } from '../../domain/visible.ts';
import { keyLine, keyMembers } from './bundle-report.ts';
import { counted } from './command.ts';

export type VerificationReport =
  | {
      readonly kind: 'ledger';
      readonly counts: {
        readonly checkpoints: number;
        readonly records: number;
        /** Checkpoints whose records were archived, as a sealed record says, and not compared. */
        readonly archived: number;
        /** Records that no checkpoint covers yet. */
        readonly unsealed: number;
      };
      /** The keys that are not published, and that the ledger itself names. If there is one, the seal is not "intact". */
      readonly recorded: readonly { readonly kid: string; readonly thumbprint: string }[];
      /** What verified records say of archived months. */
      readonly departed: readonly ArchivedPart[];
      readonly lastMark: Mark | undefined;
      readonly late?: LateSeals | undefined;
      /** The transparency log in the same database, which has the same checkpoints. Absent for a database without a log. */
      readonly log?: {
        readonly origin: string;
        readonly size: number;
        /** Why it signs no further tree. */
        readonly halted: string | undefined;
      };
      /** A note of the log that agrees with the ledger. Absent without one. */
      readonly note?: {
        readonly origin: string;
        readonly size: number;
        /** The keys of the policy that signed the note; `undefined` if no policy names keys of the log. */
        readonly keys: readonly BelievedKey[] | undefined;
      };
      /** The keys of the policy that verified the ledger and the note. Absent without a policy. */
      readonly policyKeys?: readonly BelievedKey[];
    }
  /** No fault was found, but the policy is not met. */
  | { readonly kind: 'policy'; readonly sentence: string }
  | {
      readonly kind: 'export';
      readonly month: Month;
      readonly checkpoints: number;
      readonly records: number;
      readonly firstCheckpoint: number | undefined;
      readonly lastMark: Mark | undefined;
      readonly late?: LateSeals | undefined;
    }
  | {
      readonly kind: 'broken';
      readonly fault: ExportFault | LogFault;
      /** The verified part before the fault. */
      readonly verified: {
        readonly checkpoints: number;
        readonly records: number;
        /** Checkpoints whose records were not compared. An export has none. */
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
  if (report.kind === 'policy')
    return ['The ledger agrees with itself, but does not meet the policy.', report.sentence];
  const mark = report.lastMark === undefined ? [] : [formatMark(report.lastMark)];
  return [...(report.kind === 'ledger' ? ledgerText(report) : exportText(report)), ...lateText(report.late), ...mark];
}

function lateText(late: LateSeals | undefined): readonly string[] {
  return late === undefined ? [] : [`Warning: ${lateSentence(late)}`];
}

function lateSentence({ count, first: { checkpointId, seconds } }: LateSeals): string {
  const hours = Math.floor(seconds / SECONDS_PER_HOUR);
  const others = count === 1 ? '' : ` So ${count === 2 ? 'was' : 'were'} ${counted(count - 1, 'later checkpoint')}.`;
  return `checkpoint ${checkpointId} was closed more than ${counted(hours, 'hour')} after its oldest record.${others} Either the service did not seal for so long, or checkpoints were removed and their records sealed anew.`;
}

const SECONDS_PER_HOUR = 3600;

/** The mark is part of a sentence: on its own line it would look like the last line of an intact run. */
function brokenText({ fault, verified }: VerificationReport & { readonly kind: 'broken' }): readonly string[] {
  const { checkpoints, records, archived = 0, lastMark } = verified;
  const text = [
    `${fault.kind === 'approval_order' ? CONTRADICTED : NOT_INTACT} ${describe(fault)}`,
    ...(fault.kind === 'unknown_key' ? [FORMER_KEYS] : []),
  ];
  if (lastMark === undefined) return [...text, 'No checkpoint was verified before that.'];
  return [
    ...text,
    `Verified up to checkpoint ${lastMark.checkpointId}: ${countedBoth(checkpoints, records)}.`,
    ...(archived === 0
      ? []
      : [`Of these, ${counted(archived, 'checkpoint')} lacked the records, so only signature and link were verified.`]),
    `The last mark before the fault: ${formatMark(lastMark)}`,
  ];
}

const NOT_INTACT = 'The seal is not intact.';
const CONTRADICTED = 'The records contradict each other.';

function describe(fault: ExportFault | LogFault): string {
  return isLogFault(fault) ? describeLogFault(fault) : describeExportFault(fault);
}

const FORMER_KEYS =
  'If it is a former or a new key of the service, give a key set that has it with --jwks; ask the operator on a second way.';

function archivedText({ counts: { archived }, departed }: LedgerReport): readonly string[] {
  const part = largestPart(departed);
  if (archived === 0 || part === undefined) return [];
  return [
    `Record ${part.record.seq} names what was archived. Verify each export with --archive, and compare its SHA-256:`,
    ...part.months.map(exportLine),
  ];
}

function exportLine({ month, checkpoints, sha256 }: DepartedMonth): string {
  const range = checkpoints === undefined ? 'no checkpoint' : `checkpoints ${checkpoints.first} to ${checkpoints.last}`;
  return `  ${month ?? 'before'}: ${range}, ${sha256 ?? 'whose SHA-256 is in records that were archived later'}`;
}

type LedgerReport = VerificationReport & { readonly kind: 'ledger' };

function ledgerText(report: LedgerReport): readonly string[] {
  const { counts, recorded, lastMark } = report;
  const { checkpoints, records, archived, unsealed } = counts;
  const what = verified(checkpoints, records);
  const intactText =
    lastMark === undefined
      ? 'The seal is intact: there is no checkpoint yet.'
      : `The seal is intact${archived === 0 ? '' : ` but for ${butFor(archived)}`}: ${what}.`;
  return [
    ...(recorded.length > 0 ? recordedText(recorded, what) : [intactText]),
    ...archivedText(report),
    ...(unsealed > 0 ? [`Not sealed yet, so not verified: ${counted(unsealed, 'record')}.`] : []),
    ...logText(report),
  ];
}

function logText({ counts, log, note, policyKeys }: LedgerReport): readonly string[] {
  const first = (size: number) => `the first ${size} of ${counted(counts.checkpoints, 'checkpoint')}`;
  return [
    ...(log === undefined ? [] : [`The log in the database, ${log.origin}, agrees with ${first(log.size)}.`]),
    ...(log?.halted === undefined ? [] : [`Warning: ${haltedSentence(log.halted)}`]),
    ...(note === undefined ? [] : [`The note of ${note.origin} agrees with ${first(note.size)}.`]),
    ...(note !== undefined && note.keys === undefined ? [UNSIGNED_NOTE] : []),
    ...(policyKeys === undefined ? [] : [counts.archived === 0 ? MEETS : SIGNED, ...policyKeys.map(keyLine)]),
  ];
}

const MEETS = 'It meets the policy. These keys verified it:';
/** Records that were not compared may not be those that these keys signed. */
const SIGNED = 'Its checkpoints were signed as the policy demands, by these keys:';

const UNSIGNED_NOTE = 'No policy names keys for the note, so its signatures were not verified.';

function haltedSentence(reason: string): string {
  return `the log signs no further tree. ${reason}`;
}

/** An owner of the database can have a key recorded, and rewrite with it all that it signed. */
function recordedText(recorded: readonly { readonly thumbprint: string }[], what: string): readonly string[] {
  return [
    `${VERIFIED_WITH_RECORDED_KEYS}: ${what}.`,
    'These keys are not published. Compare their thumbprints with a record that you kept elsewhere:',
    ...recorded.map(({ thumbprint }) => `  ${thumbprint}`),
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

function butFor(archived: number): string {
  return `${counted(archived, 'checkpoint')} whose records are archived`;
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
      fault: { kind, ...Object.fromEntries(members), sentence: describe(report.fault) },
      checkpoints,
      records,
      ...(archived === undefined ? {} : { archived_checkpoints: archived }),
      verified_through: lastMark === undefined ? null : formatMark(lastMark),
    };
  }
  if (report.kind === 'policy') return { intact: null, policy: 'not_met', sentence: report.sentence };
  const last = report.lastMark === undefined ? null : formatMark(report.lastMark);
  const warnings = warningsOf(report.late, report.kind === 'ledger' ? report.log?.halted : undefined);
  if (report.kind === 'ledger') {
    const { checkpoints, records, archived, unsealed } = report.counts;
    const { recorded } = report;
    return {
      // `null` is neither: no fault was found, but records were not compared, or the reader believed keys from the data.
      intact: recorded.length === 0 && archived === 0 ? true : null,
      ...(recorded.length === 0 ? {} : { verified_with: 'recorded_keys' }),
      checkpoints,
      records,
      archived_checkpoints: archived,
      ...exportMembers(report),
      unsealed_records: unsealed,
      ...(recorded.length === 0 ? {} : { recorded_keys: recorded }),
      ...logMembers(report),
      ...warnings,
      last,
    };
  }
  const { month, checkpoints, records, firstCheckpoint } = report;
  return { intact: true, month, checkpoints, records, first_checkpoint: firstCheckpoint ?? null, ...warnings, last };
}

function exportMembers({ counts, departed }: LedgerReport): Record<string, unknown> {
  const part = counts.archived === 0 ? undefined : largestPart(departed);
  if (part === undefined) return {};
  const exports = part.months.map(({ month, checkpoints, sequence, sha256 }) => ({
    month: month ?? null,
    checkpoints: checkpoints ?? null,
    sequence: sequence ?? null,
    sha256: sha256 ?? null,
  }));
  return { archived_by: part.record.seq, exports };
}

function logMembers({ counts, log, note, policyKeys }: LedgerReport): Record<string, unknown> {
  return {
    ...(log === undefined ? {} : { log: { origin: log.origin, size: log.size } }),
    ...(note === undefined
      ? {}
      : { note: { origin: note.origin, size: note.size, keys: note.keys?.map(keyMembers) ?? null } }),
    ...(policyKeys === undefined
      ? {}
      : { policy: counts.archived === 0 ? 'met' : null, keys: policyKeys.map(keyMembers) }),
  };
}

function warningsOf(late: LateSeals | undefined, halted: string | undefined): Record<string, unknown> {
  const warnings = [
    ...(late === undefined ? [] : [lateWarning(late)]),
    ...(halted === undefined ? [] : [{ kind: 'log_halted', sentence: capitalized(haltedSentence(halted)) }]),
  ];
  return warnings.length === 0 ? {} : { warnings };
}

function lateWarning(late: LateSeals): Record<string, unknown> {
  const { count, first } = late;
  const warning = { kind: 'sealed_late', checkpoint_id: first.checkpointId, seconds: Math.floor(first.seconds), count };
  return { ...warning, sentence: capitalized(lateSentence(late)) };
}

const capitalized = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
