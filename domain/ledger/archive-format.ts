/**
 * The text of an export (specification "Ledger and seal"; supplement "The ledger"): a header, the checkpoints, then the
 * records. One per line, each line ended by a line feed, fields separated by tabs, in UTF-8.
 *
 * Any other spelling of a line is malformed. The same content therefore always has the same text, and the same hash.
 *
 * Fields. A null is a backslash and an uppercase N. Integers are decimal digits, instants UTC ISO 8601 with six
 * fractional digits. In text, a backslash is written as two. Backspace, tab, line feed, vertical tab, form feed and
 * carriage return are a backslash and one of b, t, n, v, f, r. Any other control character (U+0000 to U+001F, U+007F to
 * U+009F) is a backslash, x and two lowercase hexadecimal digits for each byte of its UTF-8. All other characters stay
 * as they are. Postgres COPY reads the checkpoints and the records in this form.
 */

import { type Instant, instantFromMicros, toMicrosecondText } from '../instant.ts';
import type { Checkpoint } from './checkpoint.ts';
import type { LedgerRecord } from './record.ts';
import { type Month, parseMonth } from './time-range.ts';

export interface ArchiveHeader {
  readonly month: Month;
  /** The number of checkpoint lines, which come first. */
  readonly checkpoints: number;
  /** The number of record lines, which follow them. */
  readonly records: number;
}

/** A record in an export. Only sealed records are exported, so each has a checkpoint. */
export interface ArchivedRecord extends LedgerRecord {
  readonly checkpoint: number;
}

const NAME = 'service-archive';
const VERSION = '1';
const NULL = '\\N';

export function formatHeader({ month, checkpoints, records }: ArchiveHeader): string {
  return [NAME, VERSION, month, checkpoints, records].join('\t');
}

export function parseHeader(line: string): ArchiveHeader | undefined {
  const [, , monthText = '', checkpointsText, recordsText] = line.split('\t');
  const month = parseMonth(monthText);
  const [checkpoints, records] = [readCount(checkpointsText), readCount(recordsText)];
  if (month === undefined || checkpoints === undefined || records === undefined) return undefined;
  return exactly({ month, checkpoints, records }, formatHeader, line);
}

/** In the order of the specification's table "Checkpoint". */
export function formatCheckpoint(checkpoint: Checkpoint): string {
  return [
    checkpoint.checkpointId,
    checkpoint.firstSeq,
    checkpoint.lastSeq,
    checkpoint.treeSize,
    writeText(checkpoint.rootHash),
    writeText(checkpoint.prevCheckpointHash),
    toMicrosecondText(checkpoint.closedAt),
    writeText(checkpoint.kid),
    writeText(checkpoint.signature),
  ].join('\t');
}

export function parseCheckpoint(line: string): Checkpoint | undefined {
  const fields = line.split('\t');
  const [checkpointId, firstSeq, lastSeq, treeSize] = fields.slice(0, 4).map(readCount);
  const [rootHash, prevCheckpointHash] = fields.slice(4, 6).map(readText);
  const closedAt = readInstant(fields[6]);
  const [kid, signature] = fields.slice(7).map(readText);
  if (checkpointId === undefined || firstSeq === undefined || lastSeq === undefined || treeSize === undefined) {
    return undefined;
  }
  if (rootHash === undefined || closedAt === undefined || kid === undefined || signature === undefined) {
    return undefined;
  }
  const checkpoint = {
    checkpointId,
    firstSeq,
    lastSeq,
    treeSize,
    rootHash,
    prevCheckpointHash,
    closedAt,
    kid,
    signature,
  };
  return exactly(checkpoint, formatCheckpoint, line);
}

/** In the order of the specification's table "Audit record", `checkpoint` included. */
export function formatRecord(record: ArchivedRecord): string {
  return [
    record.seq,
    record.checkpoint,
    toMicrosecondText(record.at),
    writeText(record.event),
    writeText(record.taskId),
    writeText(record.agentId),
    writeText(record.sponsor),
    writeText(record.audience),
    writeText(record.scope),
    writeText(record.jti),
    record.delegationDepth ?? NULL,
    record.decision ?? NULL,
    writeText(record.reason),
    record.count ?? NULL,
    writeText(record.detail),
  ].join('\t');
}

export function parseRecord(line: string): ArchivedRecord | undefined {
  const fields = line.split('\t');
  const [seq, checkpoint] = fields.slice(0, 2).map(readCount);
  const at = readInstant(fields[2]);
  const [event, taskId, agentId, sponsor, audience, scope, jti] = fields.slice(3, 10).map(readText);
  const [depth, decision, reason, count, detail] = fields.slice(10);
  if (seq === undefined || checkpoint === undefined || at === undefined || event === undefined) return undefined;
  const record: ArchivedRecord = {
    seq,
    checkpoint,
    at,
    event,
    taskId,
    agentId,
    sponsor,
    audience,
    scope,
    jti,
    delegationDepth: readInteger(depth),
    decision: decision === 'allow' || decision === 'deny' ? decision : undefined,
    reason: readText(reason),
    count: readInteger(count),
    detail: readText(detail),
  };
  return exactly(record, formatRecord, line);
}

/** The parse functions read leniently. Formatting the value again and comparing it with the line makes them strict. */
function exactly<Value>(value: Value, format: (value: Value) => string, line: string): Value | undefined {
  return format(value) === line ? value : undefined;
}

/** `\p{Cc}` is U+0000 to U+001F and U+007F to U+009F. */
const TO_ESCAPE = /[\\\p{Cc}]/u;
const EACH_TO_ESCAPE = /[\\\p{Cc}]/gu;
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['\\', '\\\\'],
  ['\b', '\\b'],
  ['\t', '\\t'],
  ['\n', '\\n'],
  ['\v', '\\v'],
  ['\f', '\\f'],
  ['\r', '\\r'],
]);

function writeText(text: string | undefined): string {
  if (text === undefined) return NULL;
  return TO_ESCAPE.test(text) ? text.replace(EACH_TO_ESCAPE, escapeOf) : text;
}

function escapeOf(character: string): string {
  const bytes = () => [...Buffer.from(character)].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`);
  return ESCAPES.get(character) ?? bytes().join('');
}

const ESCAPED = /\\(?:x[0-7][0-9a-f]|xc2\\x[89][0-9a-f]|[\\btnvfr])/g;
const MEANT: ReadonlyMap<string, string> = new Map([...ESCAPES].map(([character, written]) => [written, character]));

function readText(field: string | undefined): string | undefined {
  if (field === undefined || field === NULL) return undefined;
  return field.includes('\\') ? field.replace(ESCAPED, characterOf) : field;
}

function characterOf(written: string): string {
  // Above U+007F the first byte is always c2, and the second byte equals the code point.
  return MEANT.get(written) ?? String.fromCharCode(Number.parseInt(written.slice(-2), 16));
}

const DIGITS = /^-?\d{1,16}$/;

function readInteger(field: string | undefined): number | undefined {
  const number = field !== undefined && DIGITS.test(field) ? Number(field) : undefined;
  return Number.isSafeInteger(number) ? number : undefined;
}

function readCount(field: string | undefined): number | undefined {
  const number = readInteger(field);
  return number === undefined || number < 0 ? undefined : number;
}

const INSTANT = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3})(\d{3})Z$/;
const MICROS_PER_MILLI = 1000;

function readInstant(field: string | undefined): Instant | undefined {
  const [, milliseconds, micros] = INSTANT.exec(field ?? '') ?? [];
  const millis = Date.parse(`${milliseconds}Z`);
  return Number.isNaN(millis) ? undefined : instantFromMicros(millis * MICROS_PER_MILLI + Number(micros));
}
