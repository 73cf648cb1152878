/**
 * The text of an evidence bundle (docs/auditing.md, "Evidence"): one JSON document, laid out in lines, so that it can be
 * written and verified as a stream. Any other spelling of a line is malformed: each value has a single valid text.
 */

import type { SaltedWords } from '../approvals/approval.ts';
import type { PersonSays } from '../approvals/recorded-says.ts';
import { type Instant, toMillisecondText } from '../instant.ts';
import { type Checkpoint, presentCheckpoint, toHex } from '../ledger/checkpoint.ts';
import type { Hash } from '../ledger/merkle-tree.ts';
import {
  hashesOf,
  instantOf,
  type Members,
  objectOf,
  optional,
  readCheckpoint,
  readRecord,
  textOf,
  Unreadable,
  unreadable,
  wholeOf,
} from '../ledger/published.ts';
import { type LedgerRecord, presentRecord } from '../ledger/record.ts';
import { decodeCanonical } from '../tokens/canonical-base64url.ts';

/** The records that were asked for: those that match every member. Times have milliseconds, like those of records. */
export interface BundleSelection {
  readonly taskId?: string | undefined;
  /** With `taskId`: also the records of all tasks of its tree, which hand-overs make. Present only if there is one. */
  readonly tree?: true | undefined;
  readonly sponsor?: string | undefined;
  readonly agentId?: string | undefined;
  /** Inclusive. */
  readonly from?: Instant | undefined;
  /** Exclusive. */
  readonly to?: Instant | undefined;
}

/** The newest checkpoint of the transparency log, and the key of each of its signatures, in their order. */
export interface BundleLog {
  readonly note: string;
  /** Verifier keys: the log's, then those of the witnesses. */
  readonly keys: readonly string[];
}

/** The members that RFC 7638 §3.2 hashes, in that order. */
export interface EcKey {
  readonly crv: 'P-256';
  readonly kty: 'EC';
  readonly x: string;
  readonly y: string;
}

/** A checkpoint, before the first of its records. */
export interface CheckpointEntry {
  readonly checkpoint: Checkpoint;
  /** The public key; `undefined` on the later checkpoints with the same key. */
  readonly key: EcKey | undefined;
  /** Leads to the root of the log; `undefined` in a bundle without a log. */
  readonly logPath: readonly Uint8Array[] | undefined;
}

/** A record and its proof. The checkpoint is in an earlier entry. */
export interface RecordEntry {
  readonly record: LedgerRecord;
  readonly index: number;
  readonly path: readonly Uint8Array[];
  /** What the person was asked, on `approval.requested`; `undefined` elsewhere, and once the words were deleted. */
  readonly words?: SaltedWords | undefined;
  /** On `approval.refused`: why not, if the person said so and the line is still stored. */
  readonly says?: PersonSays | undefined;
}

/** The statement of a bundle's maker about its records. The first three follow from them. */
export interface Completeness {
  readonly records: number;
  /** The `token.issued` that started the selected task; `undefined` if it is not in the bundle, or no task is selected. */
  readonly started: number | undefined;
  /** The record of the task's end. */
  readonly ended: number | undefined;
  /** Selected records that no checkpoint sealed yet. They are not in the bundle. */
  readonly notSealed: number;
  /** Selected records whose checkpoint the log did not contain yet. They are not in the bundle. */
  readonly notLogged: number;
  /** Older records had left the ledger. They are not in the bundle. */
  readonly archivedBefore: Instant | undefined;
}

export const FORMAT_LINE = '{"format":"mandate-evidence/1",';
export const EVIDENCE_LINE = '"evidence":[';
export const END_OF_EVIDENCE = '],';

export function formatHead(selection: BundleSelection, log: BundleLog | undefined): string {
  return `${[FORMAT_LINE, formatSelection(selection), formatLog(log), EVIDENCE_LINE].join('\n')}\n`;
}

/** Returns the text of one entry. The caller adds the comma and the newline between entries. */
export function formatEntry(entry: CheckpointEntry | RecordEntry): string {
  return JSON.stringify('record' in entry ? presentRecordEntry(entry) : presentCheckpointEntry(entry));
}

/** Everything after the last entry, but for the line of the digest. */
export function formatTail(completeness: Completeness): string {
  return `\n${END_OF_EVIDENCE}\n${formatCompleteness(completeness)}\n`;
}

/** @param digest SHA-256 of all lines before, in lowercase hex */
export function formatDigest(digest: string): string {
  return `"sha256":"${digest}"}`;
}

/** In the names of the parameters of `GET /audit`. */
export function presentSelection({ taskId, tree, sponsor, agentId, from, to }: BundleSelection): PublishedSelection {
  return {
    ...(taskId === undefined ? {} : { task_id: taskId }),
    ...(tree === undefined ? {} : { tree }),
    ...(sponsor === undefined ? {} : { sponsor }),
    ...(agentId === undefined ? {} : { agent_id: agentId }),
    ...(from === undefined ? {} : { from: toMillisecondText(from) }),
    ...(to === undefined ? {} : { to: toMillisecondText(to) }),
  };
}

export function presentCompleteness(completeness: Completeness): PublishedCompleteness {
  const { records, started, ended, notSealed, notLogged, archivedBefore } = completeness;
  return {
    records,
    started: started ?? null,
    ended: ended ?? null,
    not_sealed: notSealed,
    not_logged: notLogged,
    archived_before: archivedBefore === undefined ? null : toMillisecondText(archivedBefore),
  };
}

export interface PublishedSelection {
  readonly task_id?: string;
  /** The records of all tasks of its tree. */
  readonly tree?: true;
  readonly sponsor?: string;
  readonly agent_id?: string;
  readonly from?: string;
  readonly to?: string;
}

/** What the maker of a bundle says about its records: {@link Completeness}. */
export interface PublishedCompleteness {
  readonly records: number;
  readonly started: number | null;
  readonly ended: number | null;
  readonly not_sealed: number;
  readonly not_logged: number;
  readonly archived_before: string | null;
}

const formatSelection = (selection: BundleSelection) => named('selection', presentSelection(selection));
const formatCompleteness = (completeness: Completeness) => named('completeness', presentCompleteness(completeness));
const formatLog = (log: BundleLog | undefined) =>
  named('log', log === undefined ? null : { note: log.note, keys: log.keys });

/** @throws Unreadable, as all functions below */
export function readSelection(line: string): BundleSelection {
  return exactly(line, formatSelection, () => {
    const selection = objectOf('selection', member(line, 'selection'), SELECTION_MEMBERS);
    const given = <Value>(name: string, read: (members: Members, name: string) => Value) =>
      selection[name] === undefined ? undefined : read(selection, name);
    const taskId = given('task_id', textOf);
    if (selection.tree !== undefined && (selection.tree !== true || taskId === undefined)) throw unreadable('tree');
    return {
      taskId,
      tree: selection.tree,
      sponsor: given('sponsor', textOf),
      agentId: given('agent_id', textOf),
      from: given('from', instantOf),
      to: given('to', instantOf),
    };
  });
}

export function readLog(line: string): BundleLog | undefined {
  return exactly(line, formatLog, () => {
    const value = member(line, 'log');
    if (value === null) return undefined;
    const log = objectOf('log', value, LOG_MEMBERS);
    const { keys } = log;
    if (!Array.isArray(keys) || !keys.every((key) => typeof key === 'string')) throw unreadable('keys');
    return { note: textOf(log, 'note'), keys };
  });
}

export function readEntry(text: string): CheckpointEntry | RecordEntry {
  return exactly(text, formatEntry, () => {
    const entry = objectOf('entry', parse(text), ENTRY_MEMBERS);
    if (entry.record === undefined) {
      return {
        checkpoint: readCheckpoint(entry.checkpoint),
        key: entry.key === undefined ? undefined : readKey(entry.key),
        logPath: entry.log_path === undefined ? undefined : hashesOf(entry, 'log_path'),
      };
    }
    const record = readRecord(entry.record);
    const words = entry.words === undefined ? undefined : readWords(entry.words);
    const says = entry.says === undefined ? undefined : readSays(entry.says);
    return { record, index: wholeOf(entry, 'leaf_index'), path: hashesOf(entry, 'audit_path'), words, says };
  });
}

export function readCompleteness(line: string): Completeness {
  return exactly(line, formatCompleteness, () => {
    const completeness = objectOf('completeness', member(line, 'completeness'), COMPLETENESS_MEMBERS);
    return {
      records: wholeOf(completeness, 'records'),
      started: optional(completeness, 'started', wholeOf),
      ended: optional(completeness, 'ended', wholeOf),
      notSealed: wholeOf(completeness, 'not_sealed'),
      notLogged: wholeOf(completeness, 'not_logged'),
      archivedBefore: optional(completeness, 'archived_before', instantOf),
    };
  });
}

/** Returns the public members that make the key, in the order of RFC 7638; `undefined` if it is no EC key on P-256. */
export function ecKeyOf(jwk: Members): EcKey | undefined {
  const { crv, kty, x, y } = jwk;
  const isPoint = [x, y].every((each) => typeof each === 'string' && decodeCanonical(each)?.length === 32);
  return crv === 'P-256' && kty === 'EC' && isPoint ? { crv, kty, x: String(x), y: String(y) } : undefined;
}

/** RFC 7638. @param key only the members that are hashed, in the order of their names */
export function thumbprintOf(
  hash: Hash,
  key: EcKey | { readonly crv: 'Ed25519'; readonly kty: 'OKP'; readonly x: string },
) {
  return Buffer.from(hash(Buffer.from(JSON.stringify(key)))).toString('base64url');
}

/** Follows a bundle's records, in their order: derives the completeness statement from their contents. */
export function completenessOf({ taskId }: BundleSelection) {
  let [records, started, ended]: [number, number?, number?] = [0];
  return {
    add({ seq, event, decision, taskId: of }: LedgerRecord): void {
      records += 1;
      if (taskId === undefined || of !== taskId) return;
      if (event === 'token.issued' && decision === 'allow') started ??= seq;
      if (ENDS.has(event)) ended ??= seq;
    },
    said: () => ({ records, started, ended }),
  };
}

/** Each task has one of these records, once it has ended (specification "Task"). */
const ENDS: ReadonlySet<string> = new Set(['task.revoked', 'task.expired']);

const SELECTION_MEMBERS = new Set(['task_id', 'tree', 'sponsor', 'agent_id', 'from', 'to']);
const LOG_MEMBERS = new Set(['note', 'keys']);
const ENTRY_MEMBERS = new Set(['checkpoint', 'key', 'log_path', 'record', 'leaf_index', 'audit_path', 'words', 'says']);
const WORDS_MEMBERS = new Set(['salt', 'title', 'lines']);
const LINE_MEMBERS = new Set(['label', 'value']);
const SAYS_MEMBERS = new Set(['salt', 'text']);
const COMPLETENESS_MEMBERS = new Set('records started ended not_sealed not_logged archived_before'.split(' '));
const KEY_MEMBERS = new Set(['crv', 'kty', 'x', 'y']);

function presentCheckpointEntry({ checkpoint, key, logPath }: CheckpointEntry) {
  return {
    checkpoint: presentCheckpoint(checkpoint),
    ...(key === undefined ? {} : { key }),
    ...(logPath === undefined ? {} : { log_path: logPath.map(toHex) }),
  };
}

function presentRecordEntry({ record, index, path, words, says }: RecordEntry) {
  return {
    record: presentRecord(record),
    leaf_index: index,
    audit_path: path.map(toHex),
    ...(words === undefined ? {} : { words: presentWords(words) }),
    ...(says === undefined ? {} : { says: { salt: says.salt, text: says.text } }),
  };
}

function presentWords({ salt, title, lines }: SaltedWords) {
  return { salt, title, lines: lines.map(({ label, value }) => ({ label, value })) };
}

function readWords(value: unknown): SaltedWords {
  const words = objectOf('words', value, WORDS_MEMBERS);
  const { lines } = words;
  if (!Array.isArray(lines)) throw unreadable('lines');
  const read = lines.map((each) => {
    const line = objectOf('line', each, LINE_MEMBERS);
    return { label: textOf(line, 'label'), value: textOf(line, 'value') };
  });
  return { salt: textOf(words, 'salt'), title: textOf(words, 'title'), lines: read };
}

function readSays(value: unknown): PersonSays {
  const says = objectOf('says', value, SAYS_MEMBERS);
  return { salt: textOf(says, 'salt'), text: textOf(says, 'text') };
}

function readKey(value: unknown): EcKey {
  const key = ecKeyOf(objectOf('key', value, KEY_MEMBERS));
  if (key === undefined) throw unreadable('key');
  return key;
}

function named(name: string, value: unknown): string {
  return `"${name}":${JSON.stringify(value)},`;
}

function member(line: string, name: string): unknown {
  const start = `"${name}":`;
  if (!line.startsWith(start) || !line.endsWith(',')) throw new Unreadable(`It does not have the member ${name}.`);
  return parse(line.slice(start.length, -1));
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Unreadable('It is not JSON.');
  }
}

/** The readers are lenient. Formatting the value again and comparing it with the text makes them strict. */
function exactly<Value>(text: string, format: (value: Value) => string, read: () => Value): Value {
  const value = read();
  if (format(value) !== text) throw new Unreadable('It is not written as this format writes it.');
  return value;
}
