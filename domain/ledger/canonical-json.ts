/**
 * What hashes and signatures are made of, to the byte (specification "Ledger and seal"): members in lexicographic order,
 * no white space, ASCII only. Records and checkpoints are written member by member, since a verification writes
 * millions of them.
 */

import { type Instant, toMillisecondText } from '../instant.ts';
import type { LedgerRecord } from './record.ts';

/** What a checkpoint's signature covers. */
export interface UnsignedCheckpoint {
  /** Counted from 1, without a hole. */
  readonly checkpointId: number;
  /** The first begins at 1, every other exactly where the previous one ended. */
  readonly firstSeq: number;
  /** Inclusive; the number of a record that is held. */
  readonly lastSeq: number;
  /** The records held in the range: numbers that were taken by appends which rolled back are holes in it. */
  readonly treeSize: number;
  /** Lowercase hex. */
  readonly rootHash: string;
  /** SHA-256 of the previous checkpoint's signed bytes, in lowercase hex; `undefined` on the first. */
  readonly prevCheckpointHash: string | undefined;
  /** Stored to the microsecond; what is signed and published shows the millisecond. */
  readonly closedAt: Instant;
  /** The key that signed. */
  readonly kid: string;
}

/** What a record means: everything but its number and its checkpoint. `count` and `detail` are there when they say something. */
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

/** What a checkpoint's signature covers: every member but the signature. */
export function canonicalCheckpoint(checkpoint: UnsignedCheckpoint): string {
  const { checkpointId, firstSeq, lastSeq, treeSize, rootHash, prevCheckpointHash, closedAt, kid } = checkpoint;
  return (
    `{"checkpoint_id":${integer(checkpointId)},"closed_at":${time(closedAt)},` +
    `"first_seq":${integer(firstSeq)},"kid":${text(kid)},"last_seq":${integer(lastSeq)},` +
    `"prev_checkpoint_hash":${text(prevCheckpointHash)},"root_hash":${text(rootHash)},` +
    `"tree_size":${integer(treeSize)}}`
  );
}

/** Anything but printable ASCII without the double quote, & ' + < > ` and the backslash: what has to be escaped. */
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

function text(value: string | undefined): string {
  if (value === undefined) return 'null';
  return ESCAPED.test(value) ? `"${value.replace(EVERY_ESCAPED, escapeUnit)}"` : `"${value}"`;
}

/** @param unit one UTF-16 code unit: a character above U+FFFF comes as its two surrogates, a lone one as itself */
function escapeUnit(unit: string): string {
  const code = unit.charCodeAt(0).toString(16).toUpperCase();
  return SHORT_ESCAPES.get(unit) ?? `\\u${code.padStart(4, '0')}`;
}

/** What is no integer is quoted: a column of a loose type might hold text that reads as the members that follow. */
function integer(value: number | undefined): string {
  if (value === undefined) return 'null';
  return Number.isSafeInteger(value) ? String(value) : text(String(value));
}

/** Milliseconds on either side of the epoch that a date can be away from it (ECMAScript, Time Values). */
const MAX_MILLIS = 8.64e15;

/** What is no date, as only tampering brings about, is written too: a verification must name it, not fail over it. */
function time(instant: Instant): string {
  const isDate = Math.abs(Math.floor(instant / 1000)) <= MAX_MILLIS;
  return isDate ? `"${toMillisecondText(instant)}"` : text(String(instant));
}
