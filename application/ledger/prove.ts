/**
 * Proves that a record was sealed (specification "Inclusion proof", `GET /audit/records/{seq}/proof`). Every returned
 * path leads from the record, as the ledger holds it now, to the signed root.
 */

import { type ArchivedPart, namesCheckpoint } from '../../domain/ledger/archived-part.ts';
import { type Checkpoint, toHex } from '../../domain/ledger/checkpoint.ts';
import type { MerkleTree } from '../../domain/ledger/merkle-tree.ts';
import type { LedgerRecord } from '../../domain/ledger/record.ts';
import type { Checkpoints } from '../ports/checkpoints.ts';
import type { Hash } from '../ports/runtime.ts';
import { BLOCK_SIZE, type SealedBlock, treeOf } from './sealed-tree.ts';
import type { SealedTrees } from './sealed-trees.ts';

export interface StoredProving {
  readonly checkpoints: Pick<Checkpoints, 'sealing' | 'records'>;
  readonly trees: SealedTrees;
  readonly hash: Hash;
}

interface RecordProving extends StoredProving {
  /** What has left the ledger, as a sealed record says (find-archived-part.ts). */
  readonly archivedPart: () => Promise<ArchivedPart | undefined>;
}

export interface InclusionProof {
  readonly seq: number;
  readonly checkpoint: Checkpoint;
  readonly leafIndex: number;
  /** Lowercase hex, from the leaf's sibling upwards; empty if the checkpoint sealed only one record. */
  readonly auditPath: readonly string[];
}

export type ProofOutcome =
  | { readonly kind: 'proof'; readonly proof: InclusionProof }
  /** No record has this number, or it is not sealed yet. */
  | { readonly kind: 'not_found' }
  /** The record's month has been archived, as a sealed record says. */
  | { readonly kind: 'archived'; readonly checkpoint: Checkpoint }
  /** The root rebuilt from the checkpoint's records is no longer the signed one. */
  | { readonly kind: 'broken'; readonly checkpoint: Checkpoint };

/** A block whose records, as the ledger holds them, lead to the signed root. */
interface ProvenBlock {
  readonly checkpoint: Checkpoint;
  readonly block: SealedBlock;
  readonly records: readonly LedgerRecord[];
  readonly leaves: MerkleTree;
}

/** Keeps the last block, for a caller that proves one record after the other and has just read them. */
export interface BlockMemory {
  last?: ProvenBlock;
}

export async function proveRecord(
  service: RecordProving,
  seq: number,
  memory: BlockMemory = {},
): Promise<ProofOutcome> {
  const outcome = await proveStored(service, seq, memory);
  if (outcome.kind !== 'broken') return outcome;
  // Looked up last: the month may have been archived during the read.
  const { checkpoint } = outcome;
  return namesCheckpoint(await service.archivedPart(), checkpoint) ? { kind: 'archived', checkpoint } : outcome;
}

/** The proof of a record that is stored. A record that has been archived is `broken`, as a deleted one is. */
export async function proveStored(
  service: StoredProving,
  seq: number,
  memory: BlockMemory = {},
): Promise<Exclude<ProofOutcome, { kind: 'archived' }>> {
  const { last } = memory;
  if (last !== undefined && seq >= last.block.range.firstSeq && seq <= last.block.range.lastSeq)
    return proofIn(last, seq);

  // 1. Find the checkpoint that seals the record.
  const sealing = await service.checkpoints.sealing(seq);
  if (sealing.kind === 'not_sealed') return { kind: 'not_found' };
  const { checkpoint } = sealing;

  // 2. Find the record in the checkpoint's tree. If a cached tree does not match the records, read the tree again once:
  // either the tree or the records may be the altered part.
  const place = await findBlock(service, checkpoint, seq);
  const found = place === 'stale' ? await findBlock(service, checkpoint, seq) : place;
  if (typeof found !== 'object') return { kind: 'broken', checkpoint };
  memory.last = found;
  return proofIn(found, seq);
}

/** `broken`: the checkpoint's records are not the sealed ones. `stale`: this record's block differs from the tree. */
async function findBlock(
  { checkpoints, trees, hash }: StoredProving,
  checkpoint: Checkpoint,
  seq: number,
): Promise<ProvenBlock | 'broken' | 'stale'> {
  const tree = await trees.find(checkpoint);
  if (tree === undefined) return 'broken';
  const block = tree.blockOf(seq);
  // Read one more than a block can hold, so that an inserted record is noticed.
  const records = await checkpoints.records(block.range, block.range.firstSeq - 1, BLOCK_SIZE + 1);
  const leaves = treeOf(hash, records);
  if (block.holds(leaves)) return { checkpoint, block, records, leaves };
  trees.forget(checkpoint, tree);
  return 'stale';
}

function proofIn(
  { checkpoint, block, records, leaves }: ProvenBlock,
  seq: number,
): Exclude<ProofOutcome, { kind: 'archived' | 'broken' }> {
  const index = records.findIndex((record) => record.seq === seq);
  // The block is intact, so no record with this number was ever committed.
  if (index < 0) return { kind: 'not_found' };
  const auditPath = [...leaves.path(index), ...block.path].map(toHex);
  return { kind: 'proof', proof: { seq, checkpoint, leafIndex: block.firstIndex + index, auditPath } };
}
