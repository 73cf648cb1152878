/**
 * The canonical JSON that is hashed and signed (specification "Ledger and seal"): members in lexicographic order, no
 * white space, ASCII only. The functions write member by member for speed: a verification formats millions of records.
 */

import { type Instant, toMillisecondText } from '../instant.ts';
import type { LedgerRecord } from './record.ts';

/** The signed part of a checkpoint. */
export interface UnsignedCheckpoint {
  /** Counted from 1, without gaps. */
  readonly checkpointId: number;
  /** 1 for the first checkpoint; for every other, the number after the previous checkpoint's `lastSeq`. */
  readonly firstSeq: number;
  /** Inclusive; a record with this number exists. */
  readonly lastSeq: number;
  /** The number of records in the range. It can be smaller than the range: appends that rolled back leave gaps. */
  readonly treeSize: number;
  /** Lowercase hex. */
  readonly rootHash: string;
  /** SHA-256 of the previous checkpoint's signed bytes, in lowercase hex; `undefined` on the first. */
  readonly prevCheckpointHash: string | undefined;
  /** Stored to the microsecond; the signed and published text has milliseconds. */
  readonly closedAt: Instant;
  /** The id of the signing key. */
  readonly kid: string;
}

/** Every member of a record but its `seq` and `checkpoint`. `count` and `detail` are left out when undefined. */
export function canonicalRecord(record: LedgerRecord): string {
  const { agentId, audience, count, decision, delegationDepth, detail, event } = record;
  const { at, jti, reason, scope, sponsor, taskId } = record;
  return (
    `{"agent_id":${text(agentId)},"audience":${text(audience)},` +
    `${count === undefined ? '' : `"count":${integer(count)},`}` +
    `"decision":${text(decision)},"delegation_depth":${integer(delegationDepth)},` +
    `${detail === undefined ? '' : `"detail":${text(detail)},`}` +
    `"event":${text(event)},"jti":${text(jti)},"reason":${text(reason)},"scope":${text(scope)},` +
    `"sponsor":${text(sponsor)},"task_id":${text(taskId)},"ts":${time(at)}}`
  );
}

/** The signed part of a checkpoint: every member but the signature. */
export function canonicalCheckpoint(checkpoint: UnsignedCheckpoint): string {
  const { checkpointId, firstSeq, lastSeq, treeSize, rootHash, prevCheckpointHash, closedAt, kid } = checkpoint;
  return (
    `{"checkpoint_id":${integer(checkpointId)},"closed_at":${time(closedAt)},` +
    `"first_seq":${integer(firstSeq)},"kid":${text(kid)},"last_seq":${integer(lastSeq)},` +
    `"prev_checkpoint_hash":${text(prevCheckpointHash)},"root_hash":${text(rootHash)},` +
    `"tree_size":${integer(treeSize)}}`
  );
}

/** The characters to escape: all outside printable ASCII, and in it the double quote, & ' + < > ` and the backslash. */
const ESCAPED = /[^ !#-%(-*,-;=?-[\]-_a-~]/;
const EVERY_ESCAPED = new RegExp(ESCAPED, 'g');

const SHORT_ESCAPES: ReadonlyMap<string, string> = new Map([
  ['\\', '\\\\'],
  ['\b', '\\b'],
  ['\t', '\\t'],
  ['\n', '\\n'],
  ['\f', '\\f'],
  ['\r', '\\r'],
]);

/** The escapes of U+0000 to U+00FF, computed once: nearly all escaped characters are among them. */
const LATIN_ESCAPES: readonly string[] = Array.from({ length: 256 }, (_, code) => {
  const unit = String.fromCharCode(code);
  return SHORT_ESCAPES.get(unit) ?? hexEscape(code);
});

/** A text as it is written in canonical JSON. */
export function canonicalText(value: string): string {
  return text(value);
}

function text(value: string | undefined): string {
  if (value === undefined) return 'null';
  return ESCAPED.test(value) ? `"${value.replace(EVERY_ESCAPED, escapeUnit)}"` : `"${value}"`;
}

/** @param unit one UTF-16 code unit: a character above U+FFFF comes as its two surrogates, a lone one as itself */
function escapeUnit(unit: string): string {
  const code = unit.charCodeAt(0);
  return LATIN_ESCAPES[code] ?? hexEscape(code);
}

function hexEscape(code: number): string {
  return `\\u${code.toString(16).toUpperCase().padStart(4, '0')}`;
}

/** A value that is not an integer is quoted. A loosely typed column might hold text that imitates further members. */
function integer(value: number | undefined): string {
  if (value === undefined) return 'null';
  return Number.isSafeInteger(value) ? String(value) : text(String(value));
}

/** A JavaScript date reaches at most this many milliseconds from the epoch (ECMAScript, Time Values). */
const MAX_MILLIS = 8.64e15;

/** Only tampering can store an invalid date. It is written as text, so that verification reports it and does not throw. */
function time(instant: Instant): string {
  const isDate = Math.abs(Math.floor(instant / 1000)) <= MAX_MILLIS;
  return isDate ? `"${toMillisecondText(instant)}"` : text(String(instant));
}
