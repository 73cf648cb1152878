/** The reports of `audit-verify` about the ledger and about an export of it. */

import type { VerifiedLedger } from '../../application/ledger/verify.ts';
import type { ExportVerdict, IntactExport } from '../../application/ledger/verify-export.ts';
import type { LogNote } from '../../application/log/open-log-note.ts';
import type { LogState } from '../../application/ports/transparency-log.ts';
import { type DepartedMonth, largestPart } from '../../domain/ledger/archived-part.ts';
import { formatMark, type Mark } from '../../domain/ledger/checkpoint.ts';
import { describeLogFault, isLogFault, type LogFault } from '../../domain/ledger/log-fault.ts';
import { VERIFIED_WITH_RECORDED_KEYS } from '../../domain/ledger/recorded-keys.ts';
import { describeExportFault, type ExportFault, type LateSeals } from '../../domain/ledger/verification.ts';
import type { BelievedKey } from '../../domain/log/bundle-log.ts';
import { visibleJson, visibleText } from '../../domain/visible.ts';
import { keyLine, keyMembers } from './bundle-report.ts';
import { counted } from './command.ts';

/** The ledger with what is beside it. No fault was found. */
interface IntactLedger extends Omit<VerifiedLedger, 'newest'> {
  readonly kind: 'intact';
  /** The transparency log in the same database, which has the same checkpoints. Absent for a database without a log. */
  readonly log?: Pick<LogState, 'origin' | 'size' | 'halted'> | undefined;
  /** A note of the log that agrees with the ledger. Absent without one. */
  readonly note?: LogNote | undefined;
  /** The keys of the policy that verified the ledger and the note. Absent without a policy. */
  readonly policyKeys?: readonly BelievedKey[] | undefined;
}

/** The fault of a ledger or of an export, and the verified part before it. */
interface BrokenSeal {
  readonly kind: 'broken';
  readonly fault: ExportFault | LogFault;
  /** Checkpoints whose records were archived were not compared. An export has none. */
  readonly counts: { readonly checkpoints: number; readonly records: number; readonly archived?: number };
  readonly lastMark: Mark | undefined;
}

/** No fault was found, but the policy is not met. */
interface UnmetPolicy {
  readonly kind: 'policy';
  readonly sentence: string;
}

export type LedgerReport = IntactLedger | BrokenSeal | UnmetPolicy;

/** Renders sentences for a person, or one JSON object for a program. The text ends with a line feed. */
export function renderLedgerReport(report: LedgerReport, json: boolean): string {
  if (report.kind === 'broken') return renderBroken(report, json);
  if (json) return renderJson(report.kind === 'policy' ? policyMembers(report) : ledgerMembers(report));
  return renderLines(
    report.kind === 'policy'
      ? ['The ledger agrees with itself, but does not meet the policy.', report.sentence]
      : [...ledgerText(report), ...lateText(report.late), ...markLine(report.lastMark)],
  );
}

export function renderExportReport(verdict: ExportVerdict, json: boolean): string {
  if (verdict.kind === 'broken') return renderBroken(verdict, json);
  if (json) return renderJson(exportMembers(verdict));
  return renderLines([...exportText(verdict), ...lateText(verdict.late), ...markLine(verdict.last)]);
}

function renderBroken(broken: BrokenSeal, json: boolean): string {
  return json ? renderJson(brokenMembers(broken)) : renderLines(brokenText(broken));
}

/** A key id comes from the data that is verified. */
function renderJson(members: Record<string, unknown>): string {
  return `${visibleJson(JSON.stringify(members))}\n`;
}

function renderLines(lines: readonly string[]): string {
  return `${lines.map(visibleText).join('\n')}\n`;
}

function markLine(mark: Mark | undefined): readonly string[] {
  return mark === undefined ? [] : [formatMark(mark)];
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
function brokenText({ fault, counts, lastMark }: BrokenSeal): readonly string[] {
  const { checkpoints, records, archived = 0 } = counts;
  const text = [
    `${fault.kind === 'approval_order' || fault.kind === 'delegation_order' ? CONTRADICTED : NOT_INTACT} ${describe(fault)}`,
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

function archivedText({ counts: { archived }, departed }: IntactLedger): readonly string[] {
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

function ledgerText(report: IntactLedger): readonly string[] {
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

function logText({ counts, log, note, policyKeys }: IntactLedger): readonly string[] {
  const first = (size: number) => `the first ${size} of ${counted(counts.checkpoints, 'checkpoint')}`;
  return [
    ...(log === undefined ? [] : [`The log in the database, ${log.origin}, agrees with ${first(log.size)}.`]),
    ...(log?.halted === undefined ? [] : [`Warning: ${haltedSentence(log.halted)}`]),
    ...(note === undefined ? [] : [`The note of ${note.head.origin} agrees with ${first(note.head.size)}.`]),
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

function exportText({ header: { month, checkpoints, records }, first }: IntactExport): readonly string[] {
  if (first === undefined)
    return [`The export of ${month} is intact: by its own header there was nothing to export.`, WHOLE];
  const { checkpointId: id } = first;
  return [
    `The export of ${month} is intact: ${verified(checkpoints, records)}.`,
    ...(id > 1
      ? [`It begins with checkpoint ${id}: only the ledger shows whether that links to checkpoint ${id - 1}.`]
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

function brokenMembers({ fault: found, counts, lastMark }: BrokenSeal): Record<string, unknown> {
  const { kind, ...about } = found;
  const members = Object.entries(about).map(([name, value]) => [snakeCase(name), value]);
  const { checkpoints, records, archived } = counts;
  return {
    intact: false,
    fault: { kind, ...Object.fromEntries(members), sentence: describe(found) },
    checkpoints,
    records,
    ...(archived === undefined ? {} : { archived_checkpoints: archived }),
    verified_through: markMember(lastMark),
  };
}

function policyMembers({ sentence }: UnmetPolicy): Record<string, unknown> {
  return { intact: null, policy: 'not_met', sentence };
}

function ledgerMembers(report: IntactLedger): Record<string, unknown> {
  const { recorded, lastMark, late, log } = report;
  const { checkpoints, records, archived, unsealed } = report.counts;
  return {
    // `null` is neither: no fault was found, but records were not compared, or the reader believed keys from the data.
    intact: recorded.length === 0 && archived === 0 ? true : null,
    ...(recorded.length === 0 ? {} : { verified_with: 'recorded_keys' }),
    checkpoints,
    records,
    archived_checkpoints: archived,
    ...archivedMembers(report),
    unsealed_records: unsealed,
    ...(recorded.length === 0 ? {} : { recorded_keys: recorded }),
    ...logMembers(report),
    ...warningsOf(late, log?.halted),
    last: markMember(lastMark),
  };
}

function exportMembers({ header, first, last, late }: IntactExport): Record<string, unknown> {
  const { month, checkpoints, records } = header;
  const range = { month, checkpoints, records, first_checkpoint: first?.checkpointId ?? null };
  return { intact: true, ...range, ...warningsOf(late), last: markMember(last) };
}

function markMember(mark: Mark | undefined): string | null {
  return mark === undefined ? null : formatMark(mark);
}

function archivedMembers({ counts, departed }: IntactLedger): Record<string, unknown> {
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

function logMembers({ counts, log, note, policyKeys }: IntactLedger): Record<string, unknown> {
  return {
    ...(log === undefined ? {} : { log: { origin: log.origin, size: log.size } }),
    ...(note === undefined
      ? {}
      : { note: { origin: note.head.origin, size: note.head.size, keys: note.keys?.map(keyMembers) ?? null } }),
    ...(policyKeys === undefined
      ? {}
      : { policy: counts.archived === 0 ? 'met' : null, keys: policyKeys.map(keyMembers) }),
  };
}

function warningsOf(late: LateSeals | undefined, halted?: string): Record<string, unknown> {
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
