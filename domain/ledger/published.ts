/**
 * Reads the published forms of records, checkpoints and proofs (specification "Audit record", "Checkpoint", "Inclusion
 * proof"; `GET /audit`, `GET /audit/checkpoints`, `GET /audit/records/{seq}/proof`). An unknown member is refused: it
 * would look verified, although no hash covers it.
 */

import { type Instant, instantFromMicros, instantFromMillis, toMillisecondText } from '../instant.ts';
import type { Checkpoint } from './checkpoint.ts';
import type { LedgerRecord } from './record.ts';

/** A record as the service publishes it. */
export interface PublishedRecord {
  readonly seq: number;
  readonly checkpoint: number | null;
  /** UTC ISO 8601, three fractional digits. */
  readonly ts: string;
  readonly event: string;
  readonly task_id: string | null;
  readonly agent_id: string | null;
  readonly sponsor: string | null;
  readonly audience: string | null;
  readonly scope: string | null;
  readonly jti: string | null;
  readonly delegation_depth: number | null;
  readonly decision: 'allow' | 'deny' | null;
  readonly reason: string | null;
  readonly count?: number;
  readonly detail?: string;
}

/** A checkpoint as the service publishes it. */
export interface PublishedCheckpoint {
  readonly checkpoint_id: number;
  readonly first_seq: number;
  readonly last_seq: number;
  readonly tree_size: number;
  /** Lowercase hex, like all hashes and signatures. */
  readonly root_hash: string;
  readonly prev_checkpoint_hash: string | null;
  /** UTC ISO 8601, three fractional digits. */
  readonly closed_at: string;
  readonly kid: string;
  readonly signature: string;
}

/** A proof as the service publishes it. */
export interface PublishedProof {
  readonly seq: number;
  readonly checkpoint: PublishedCheckpoint;
  readonly leaf_index: number;
  /** Sibling hashes, from the leaf to the root. */
  readonly audit_path: readonly string[];
}

export interface Proof {
  readonly seq: number;
  readonly checkpoint: Checkpoint;
  readonly index: number;
  readonly path: readonly Uint8Array[];
}

/** Its message names the unreadable member, and quotes no part of the value. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable';
}

const RECORD_MEMBERS = new Set(
  'seq checkpoint ts event task_id agent_id sponsor audience scope jti delegation_depth decision reason count detail'.split(
    ' ',
  ),
);
const CHECKPOINT_MEMBERS = new Set(
  'checkpoint_id first_seq last_seq tree_size root_hash prev_checkpoint_hash closed_at kid signature'.split(' '),
);
const PROOF_MEMBERS = new Set('seq checkpoint leaf_index audit_path'.split(' '));
const HASH = /^[0-9a-f]{64}$/;

/** @throws Unreadable */
export function readRecord(published: unknown): LedgerRecord {
  const record = objectOf('record', published, RECORD_MEMBERS);
  const text = (name: string) => optional(record, name, textOf);
  const decision = text('decision');
  if (decision !== undefined && decision !== 'allow' && decision !== 'deny') throw unreadable('decision');
  return {
    seq: wholeOf(record, 'seq'),
    checkpoint: optional(record, 'checkpoint', wholeOf),
    at: instantOf(record, 'ts'),
    event: textOf(record, 'event'),
    taskId: text('task_id'),
    agentId: text('agent_id'),
    sponsor: text('sponsor'),
    audience: text('audience'),
    scope: text('scope'),
    jti: text('jti'),
    delegationDepth: optional(record, 'delegation_depth', wholeOf),
    decision,
    reason: text('reason'),
    // These two are absent, never null, because their canonical form has no null.
    count: record.count === undefined ? undefined : wholeOf(record, 'count'),
    detail: record.detail === undefined ? undefined : textOf(record, 'detail'),
  };
}

/** @throws Unreadable */
export function readCheckpoint(published: unknown): Checkpoint {
  const checkpoint = objectOf('checkpoint', published, CHECKPOINT_MEMBERS);
  return {
    checkpointId: wholeOf(checkpoint, 'checkpoint_id'),
    firstSeq: wholeOf(checkpoint, 'first_seq'),
    lastSeq: wholeOf(checkpoint, 'last_seq'),
    treeSize: wholeOf(checkpoint, 'tree_size'),
    rootHash: hashOf(checkpoint, 'root_hash'),
    prevCheckpointHash: optional(checkpoint, 'prev_checkpoint_hash', hashOf),
    closedAt: instantOf(checkpoint, 'closed_at'),
    kid: textOf(checkpoint, 'kid'),
    signature: textOf(checkpoint, 'signature'),
  };
}

/** @throws Unreadable */
export function readProof(published: unknown): Proof {
  const proof = objectOf('proof', published, PROOF_MEMBERS);
  return {
    seq: wholeOf(proof, 'seq'),
    checkpoint: readCheckpoint(proof.checkpoint),
    index: wholeOf(proof, 'leaf_index'),
    path: hashesOf(proof, 'audit_path'),
  };
}

export type Members = Readonly<Record<string, unknown>>;

export function objectOf(what: string, value: unknown, known: ReadonlySet<string>): Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Unreadable(`The ${what} is no object.`);
  // No hash and no signature covers an unknown member.
  const unknown = Object.keys(value).find((name) => !known.has(name));
  if (unknown !== undefined) throw new Unreadable(`The ${what} has a member that no ${what} has.`);
  return value as Members;
}

/** Null means that there is no value. A missing member is an error: the record was truncated. */
export function optional<Value>(members: Members, name: string, read: (members: Members, name: string) => Value) {
  return members[name] === null ? undefined : read(members, name);
}

export function textOf(members: Members, name: string): string {
  const value = members[name];
  if (typeof value !== 'string') throw unreadable(name);
  return value;
}

export function wholeOf(members: Members, name: string): number {
  const value = members[name];
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) throw unreadable(name);
  return value;
}

function hashOf(members: Members, name: string): string {
  const value = textOf(members, name);
  if (!HASH.test(value)) throw unreadable(name);
  return value;
}

export function hashesOf(members: Members, name: string): readonly Uint8Array[] {
  const hashes = members[name];
  if (!Array.isArray(hashes)) throw unreadable(name);
  return hashes.map((each: unknown) => {
    if (typeof each !== 'string' || !HASH.test(each)) throw unreadable(name);
    return Buffer.from(each, 'hex');
  });
}

const FOUR_DIGIT_YEAR = /^\d{4}-/;
/** More than the distance between two instants in the year 9999, and less than a millisecond. */
const ROUNDING_MICROS = 32;

/** Accepts an instant only in the form that is hashed, with a year of four digits. Others are never published. */
export function instantOf(members: Members, name: string): Instant {
  const text = textOf(members, name);
  const millis = Date.parse(text);
  const rounded = instantFromMillis(millis);
  // After the year 2255 an instant is not exact. Rounded up, it has the millisecond that was read.
  const isBefore = Math.floor(rounded / 1000) < millis;
  const instant = isBefore ? instantFromMicros(rounded + ROUNDING_MICROS) : rounded;
  const isRead = FOUR_DIGIT_YEAR.test(text) && Number.isFinite(instant) && toMillisecondText(instant) === text;
  if (!isRead) throw unreadable(name);
  return instant;
}

export function unreadable(name: string): Unreadable {
  return new Unreadable(`The member ${name} is missing, or is not of the form that is published.`);
}
