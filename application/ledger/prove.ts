/**
 * Proves that a record is what was sealed (specification "Inclusion proof", `GET /audit/records/{seq}/proof`). No path
 * is answered that does not fold from the record, as it stands in the ledger now, to the root that was signed.
 */

import { type Checkpoint, toHex } from '../../domain/ledger/checkpoint.ts';
import type { Checkpoints } from '../ports/checkpoints.ts';
import type { Hash } from '../ports/hash.ts';
import { BLOCK_SIZE, type SealedBlock, treeOf } from './sealed-tree.ts';
import type { SealedTrees } from './sealed-trees.ts';

export interface RecordProving {
  readonly checkpoints: Pick<Checkpoints, 'sealing' | 'records'>;
  readonly trees: SealedTrees;
  readonly hash: Hash;
}

interface InclusionProof {
  readonly seq: number;
  readonly checkpoint: Checkpoint;
  readonly leafIndex: number;
  /** Lowercase hex, from the leaf's sibling upwards; empty when the checkpoint sealed one record. */
  readonly auditPath: readonly string[];
}

export type ProofOutcome =
  | { readonly kind: 'proof'; readonly proof: InclusionProof }
  /** No record has this number, or it is not sealed yet. */
  | { readonly kind: 'not_found' }
  /** The record has left with an export. */
  | { readonly kind: 'archived'; readonly checkpoint: Checkpoint }
  /** The records that the checkpoint covers no longer rebuild the root that was signed. */
  | { readonly kind: 'broken'; readonly checkpoint: Checkpoint };

export async function proveRecord(service: RecordProving, seq: number): Promise<ProofOutcome> {
  // 1. Which checkpoint seals it.
  const sealing = await service.checkpoints.sealing(seq);
  if (sealing.kind === 'not_sealed') return { kind: 'not_found' };
  if (sealing.kind === 'archived') return sealing;
  const { checkpoint } = sealing;

  // 2. Its place in the checkpoint's tree. A tree that was kept and does not fit the records is read anew, once: either
  // may be the one that is sound.
  const place = await findPlace(service, checkpoint, seq);
  const found = place === 'stale' ? await findPlace(service, checkpoint, seq) : place;
  if (typeof found === 'object') return found;

  // 3. Its month may have left while it was read.
  const now = await service.checkpoints.sealing(seq);
  return now.kind === 'archived' ? now : { kind: 'broken', checkpoint };
}

/** `broken` when the records are not those that were sealed; `stale` when those around this one are not. */
async function findPlace(
  { checkpoints, trees, hash }: RecordProving,
  checkpoint: Checkpoint,
  seq: number,
): Promise<ProofOutcome | 'broken' | 'stale'> {
  const tree = await trees.find(checkpoint);
  if (tree === undefined) return 'broken';
  const block = tree.blockOf(seq);
  // One more than there can be shows what was put in.
  const records = await checkpoints.records(block.range, block.range.firstSeq - 1, BLOCK_SIZE + 1);
  const leaves = treeOf(hash, records);
  if (!block.holds(leaves)) {
    trees.forget(checkpoint, tree);
    return 'stale';
  }
  const index = records.findIndex((record) => record.seq === seq);
  // The block is as it was sealed, so at this number nothing was ever committed.
  return index < 0
    ? { kind: 'not_found' }
    : { kind: 'proof', proof: proofOf(seq, checkpoint, block, index, leaves.path(index)) };
}

function proofOf(
  seq: number,
  checkpoint: Checkpoint,
  block: SealedBlock,
  index: number,
  withinBlock: readonly Uint8Array[],
): InclusionProof {
  const auditPath = [...withinBlock, ...block.path].map(toHex);
  return { seq, checkpoint, leafIndex: block.firstIndex + index, auditPath };
}
