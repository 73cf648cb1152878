/**
 * The rules of a checkpoint chain, and its possible faults (specification "Ledger and seal"). A fault names its kind
 * and the checkpoint; it never shows the content of a record.
 */

import { type Checkpoint, checkpointHash, type Mark } from './checkpoint.ts';
import type { Hash } from './merkle-tree.ts';

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
  /** No checkpoint covers the record: its number is below the first range, or, in an export, above the last one. */
  | { readonly kind: 'record_outside'; readonly seq: number }
  /** The ledger's checkpoint has another root than the mark that names it. */
  | { readonly kind: 'mark_contradicted'; readonly checkpointId: number }
  /** A mark names a missing checkpoint: the ledger's end was cut off. `newestId` is 0 if there are no checkpoints. */
  | { readonly kind: 'mark_unmatched'; readonly checkpointId: number; readonly newestId: number };

/** Whether the chain must begin with the ledger's first checkpoint, or (an export) may begin with any. */
export type ChainStart = 'first' | 'any';

/** The fault of a checkpoint as the successor of another. Signature and records are not checked here. */
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
  // An export of a later month does not hold the checkpoint before it, so its first link is not checked.
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

/** One sentence for an auditor. */
export function describeFault(fault: VerificationFault): string {
  switch (fault.kind) {
    case 'id_not_contiguous':
      return `Checkpoint ${fault.checkpointId} stands where checkpoint ${fault.expectedId} should: one was removed, inserted or renumbered.`;
    case 'range_not_contiguous':
      return `Checkpoint ${fault.checkpointId} does not begin at sequence number ${fault.expectedFirstSeq}, where the one before it ended.`;
    case 'range_inverted':
      return `Checkpoint ${fault.checkpointId} ends before it begins.`;
    case 'link_broken':
      return `Checkpoint ${fault.checkpointId} does not link to the one before it: one of the two was altered or replaced.`;
    case 'unknown_key':
      return `Checkpoint ${fault.checkpointId} was signed with a key that is not published.`;
    case 'invalid_signature':
      return `Checkpoint ${fault.checkpointId} has an invalid signature: it was altered, or signed by somebody else.`;
    case 'tree_size':
      return `Checkpoint ${fault.checkpointId} sealed ${fault.sealed} records, but its range holds ${fault.held}: records were ${fault.held < fault.sealed ? 'deleted' : 'inserted'}.`;
    case 'root_mismatch':
      return `Checkpoint ${fault.checkpointId} does not match its records: at least one of them was altered or moved.`;
    case 'record_outside':
      return `The record with sequence number ${fault.seq} lies outside of every checkpoint.`;
    case 'mark_contradicted':
      return `Checkpoint ${fault.checkpointId} has another root than the mark says: the ledger was replaced from there or before.`;
    case 'mark_unmatched':
      return fault.newestId === 0
        ? `There is no checkpoint ${fault.checkpointId}, which a mark names: there are no checkpoints at all.`
        : `There is no checkpoint ${fault.checkpointId}, which a mark names: the newest is ${fault.newestId}.`;
  }
}
