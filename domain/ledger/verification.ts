/**
 * The rules of a checkpoint chain, and the possible faults of a ledger and of an export (specification "Ledger and
 * seal"). A fault names its kind and the checkpoint; it never shows the content of a record.
 */

import { type Instant, plusSeconds, secondsBetween } from '../instant.ts';
import { type Checkpoint, checkpointHash, type Mark } from './checkpoint.ts';
import type { Hash } from './merkle-tree.ts';
import { describeOrderFault, type OrderFault } from './order-fault.ts';
import type { Month } from './time-range.ts';

export type ChainFault =
  | { readonly kind: 'id_not_contiguous'; readonly checkpointId: number; readonly expectedId: number }
  | { readonly kind: 'range_not_contiguous'; readonly checkpointId: number; readonly expectedFirstSeq: number }
  | { readonly kind: 'range_inverted'; readonly checkpointId: number }
  | { readonly kind: 'link_broken'; readonly checkpointId: number };

export type VerificationFault =
  | ChainFault
  | { readonly kind: 'unknown_key'; readonly checkpointId: number }
  | { readonly kind: 'invalid_signature'; readonly checkpointId: number }
  /** Records are missing from the checkpoint's range, or there are more than were sealed. */
  | { readonly kind: 'tree_size'; readonly checkpointId: number; readonly sealed: number; readonly held: number }
  /** The number of records is right, but a record or the order has changed. */
  | { readonly kind: 'root_mismatch'; readonly checkpointId: number }
  /**
   * No checkpoint covers the record: its number is below the first range, or, in an export, above the last one; or beyond
   * the safe integers, and then text.
   */
  | { readonly kind: 'record_outside'; readonly seq: number | string }
  /** The records of an approval or a hand-over contradict each other, although they are as they were sealed. */
  | ({ readonly seq: number } & OrderFault)
  /** Two records have one number. Each is named by its event and its time. */
  | { readonly kind: 'number_twice'; readonly seq: number; readonly records: readonly [string, string] }
  /** The ledger's checkpoint has another root than the mark that names it. */
  | { readonly kind: 'mark_contradicted'; readonly checkpointId: number }
  /** A mark names a missing checkpoint: the ledger's end was cut off. `newestId` is 0 if there are no checkpoints. */
  | { readonly kind: 'mark_unmatched'; readonly checkpointId: number; readonly newestId: number };

/** The chain of a ledger begins with its first checkpoint; that of an export may begin with any checkpoint. */
type ChainStart = 'first' | 'any';

/** The fault of a checkpoint that should follow another. Signature and records are not checked here. */
export function chainFault(
  hash: Hash,
  previous: Checkpoint | undefined,
  next: Checkpoint,
  start: ChainStart = 'first',
): ChainFault | undefined {
  const { checkpointId, firstSeq, lastSeq, prevCheckpointHash } = next;
  const expected = successor(hash, previous, next, start);
  if (checkpointId !== expected.id) return { kind: 'id_not_contiguous', checkpointId, expectedId: expected.id };
  if (firstSeq !== expected.firstSeq) {
    return { kind: 'range_not_contiguous', checkpointId, expectedFirstSeq: expected.firstSeq };
  }
  if (lastSeq < firstSeq) return { kind: 'range_inverted', checkpointId };
  return prevCheckpointHash === expected.link ? undefined : { kind: 'link_broken', checkpointId };
}

function successor(hash: Hash, previous: Checkpoint | undefined, next: Checkpoint, start: ChainStart) {
  if (previous !== undefined) {
    return {
      id: previous.checkpointId + 1,
      firstSeq: previous.lastSeq + 1,
      link: checkpointHash(hash, previous),
    };
  }
  // An export that begins later in the chain lacks the checkpoint before it, so its first link is not checked.
  if (start === 'any' && next.checkpointId > 1 && next.prevCheckpointHash !== undefined) {
    return { id: next.checkpointId, firstSeq: next.firstSeq, link: next.prevCheckpointHash };
  }
  return { id: 1, firstSeq: 1, link: undefined };
}

/** The fault if this checkpoint has another root than one of the marks. */
export function contradictedMark(marks: readonly Mark[], checkpoint: Checkpoint): VerificationFault | undefined {
  const { checkpointId, rootHash } = checkpoint;
  const contradicted = marks.some((mark) => mark.checkpointId === checkpointId && mark.rootHash !== rootHash);
  return contradicted ? { kind: 'mark_contradicted', checkpointId } : undefined;
}

/** The fault if one of the marks names a checkpoint after the newest one. */
export function unmatchedMark(
  marks: readonly Mark[],
  newest: Pick<Checkpoint, 'checkpointId'> | undefined,
): VerificationFault | undefined {
  const newestId = newest?.checkpointId ?? 0;
  const unmatched = marks.find((mark) => mark.checkpointId > newestId);
  return unmatched && { kind: 'mark_unmatched', checkpointId: unmatched.checkpointId, newestId };
}

/** A record dated this long outside of its checkpoint comes from a clock that was wrong by more. */
const WRONG_CLOCK_SECONDS = 24 * 3600;

/** Whether the checkpoint after `previous` may hold a record from before this time. */
export function mayReachBefore(previous: Pick<Checkpoint, 'closedAt'> | undefined, time: Instant): boolean {
  return previous === undefined || previous.closedAt < plusSeconds(time, WRONG_CLOCK_SECONDS);
}

/** Whether a checkpoint that was closed then may hold a record from this time or later. */
export function mayReachAfter(closedAt: Instant, time: Instant): boolean {
  return closedAt >= plusSeconds(time, -WRONG_CLOCK_SECONDS);
}

/** Checkpoints that were closed long after the oldest record that they seal. A warning, not a fault. */
export interface LateSeals {
  readonly count: number;
  readonly first: {
    readonly checkpointId: number;
    /** From its oldest record to its end. */
    readonly seconds: number;
  };
}

/** A service that was stopped seals later, and so does one that had to wait for its database. */
const LATE_SECONDS = 3600;
const LATE_INTERVALS = 10;

/**
 * Until a record is sealed, an owner of the database can change it unnoticed. An owner who removes all checkpoints
 * makes the service seal the records again: such a checkpoint is closed late (supplement "Trust in the ledger").
 *
 * @param interval `Service:Audit:Checkpoint:Interval` in seconds, by default the shortest possible margin
 */
export function lateSeals(interval = 0) {
  const limit = LATE_SECONDS + LATE_INTERVALS * interval;
  let [count, first]: [number, LateSeals['first']?] = [0];
  return {
    sealed({ checkpointId, closedAt }: Checkpoint, oldest: Instant | undefined): void {
      const seconds = oldest === undefined ? 0 : secondsBetween(oldest, closedAt);
      if (seconds <= limit) return;
      first ??= { checkpointId, seconds };
      count += 1;
    },
    found: (): LateSeals | undefined => first && { count, first },
  };
}

/** One sentence for an auditor. */
export function describeFault(fault: VerificationFault): string {
  switch (fault.kind) {
    case 'id_not_contiguous':
      return `Checkpoint ${fault.checkpointId} is in the place of checkpoint ${fault.expectedId}: a checkpoint was removed, inserted or renumbered.`;
    case 'range_not_contiguous':
      return `Checkpoint ${fault.checkpointId} does not begin at sequence number ${fault.expectedFirstSeq}, where the one before it ended.`;
    case 'range_inverted':
      return `Checkpoint ${fault.checkpointId} ends before it begins.`;
    case 'link_broken':
      return `Checkpoint ${fault.checkpointId} does not link to the one before it: one of the two was altered or replaced.`;
    case 'unknown_key':
      return `Checkpoint ${fault.checkpointId} was signed with a key that is not published.`;
    case 'invalid_signature':
      return `Checkpoint ${fault.checkpointId} has an invalid signature: it was altered, or signed with another key.`;
    case 'tree_size':
      return `Checkpoint ${fault.checkpointId} sealed ${fault.sealed} records, but its range holds ${fault.held}: records were ${fault.held < fault.sealed ? 'deleted' : 'inserted'}.`;
    case 'root_mismatch':
      return `Checkpoint ${fault.checkpointId} does not match its records: at least one of them was altered or moved.`;
    case 'record_outside':
      return `The record with sequence number ${fault.seq} lies outside of every checkpoint.`;
    case 'approval_order':
    case 'delegation_order':
      return describeOrderFault(fault.seq, fault);
    case 'number_twice':
      return `Two records have the sequence number ${fault.seq}: ${fault.records[0]}, and ${fault.records[1]}.`;
    case 'mark_contradicted':
      return `Checkpoint ${fault.checkpointId} has another root than the mark says: the ledger was replaced from there or before.`;
    case 'mark_unmatched':
      return fault.newestId === 0
        ? `There is no checkpoint ${fault.checkpointId}, which a mark names: there are no checkpoints at all.`
        : `There is no checkpoint ${fault.checkpointId}, which a mark names: the newest is ${fault.newestId}.`;
  }
}

/** The faults of an export: in its text, its order or its seal. */
export type ExportFault =
  | VerificationFault
  | {
      readonly kind: 'damaged';
      readonly damage: 'not_gzip' | 'cut_off' | 'not_utf8' | 'line_too_long' | 'followed_by_more';
    }
  /** @property line counted from 1, which is the header */
  | { readonly kind: 'malformed_line'; readonly line: number }
  | {
      readonly kind: 'count';
      readonly of: 'checkpoints' | 'records';
      readonly announced: number;
      readonly held: number;
    }
  | { readonly kind: 'out_of_order'; readonly seq: number }
  /** The record names a checkpoint whose range does not contain it. */
  | { readonly kind: 'wrong_checkpoint'; readonly seq: number }
  | { readonly kind: 'wrong_month'; readonly month: Month }
  | { readonly kind: 'mark_outside'; readonly checkpointId: number };

const DAMAGES = {
  not_gzip: 'The export is not a gzip file, or is damaged.',
  cut_off: 'The export is cut off.',
  not_utf8: 'The export is damaged: its text is not UTF-8.',
  line_too_long: 'The export is damaged: one of its lines is longer than any record can be.',
  followed_by_more: 'The file contains more data after the end of the export.',
} as const;

/** One sentence for an auditor; it never shows the content of a record. */
export function describeExportFault(fault: ExportFault): string {
  switch (fault.kind) {
    case 'damaged':
      return DAMAGES[fault.damage];
    case 'malformed_line':
      return fault.line === 1
        ? 'The export does not begin with the header of an export.'
        : `Line ${fault.line} of the export is malformed.`;
    case 'count':
      return `The export has ${fault.held} ${fault.of} where its header announces ${fault.announced}.`;
    case 'out_of_order':
      return `The record with sequence number ${fault.seq} is out of order in the export, or occurs twice.`;
    case 'wrong_checkpoint':
      return `The record with sequence number ${fault.seq} names another checkpoint than the one that seals it.`;
    case 'wrong_month':
      return `The records of the export are not those of ${fault.month}, the month in its header.`;
    case 'mark_outside':
      return `The export does not hold checkpoint ${fault.checkpointId}, which a mark names, so it cannot confirm it.`;
    default:
      return describeFault(fault);
  }
}
