/**
 * One sealing pass (specification "Ledger and seal"): it seals all unsealed records with one checkpoint. It computes
 * the root from the committed rows, because the signature must cover exactly these. Before it seals, trusted-chain.ts
 * compares the database with what this process knows of the chain.
 *
 * The life of a record: a decision appends it (a refusal: record-denial.ts, anonymous-denials.ts), this pass seals it,
 * deliver.ts sends it to the sink, archive.ts moves old months to a file. Readers get pages (query.ts), a stream
 * (record-stream.ts), proofs (prove.ts, from sealed-trees.ts) or an export (export-records.ts). verify.ts and
 * verify-export.ts check all of it for an auditor.
 */

import { canonicalCheckpoint, canonicalRecord, type UnsignedCheckpoint } from '../../domain/ledger/canonical-json.ts';
import { type Checkpoint, checkpointHash, toHex } from '../../domain/ledger/checkpoint.ts';
import { leafHash, treeBuilder } from '../../domain/ledger/merkle-tree.ts';
import type { Checkpoints, SeqRange } from '../ports/checkpoints.ts';
import type { CheckpointSigner } from '../ports/keys.ts';
import type { Clock, Hash, Turn } from '../ports/runtime.ts';
import { recordPages } from './record-pages.ts';
import { type Examined, isSameCheckpoint, type TrustedChain } from './trusted-chain.ts';

export interface LedgerSealing {
  readonly checkpoints: Pick<Checkpoints, 'unsealed' | 'records' | 'add'>;
  /** What this process knows of the chain. */
  readonly chain: Pick<TrustedChain, 'examine' | 'lookForTwice' | 'sealed' | 'foundTwice'>;
  readonly signer: CheckpointSigner;
  readonly hash: Hash;
  readonly clock: Clock;
  readonly turn: Turn;
}

export type SealOutcome =
  | { readonly kind: 'sealed'; readonly checkpoint: Checkpoint }
  | { readonly kind: 'nothing_unsealed' }
  /** Another instance sealed these records first. The next pass seals later ones. */
  | { readonly kind: 'overtaken' }
  /** Two records have this number, which is not sealed: no checkpoint can tell them apart, so neither is sealed. */
  | { readonly kind: 'used_twice'; readonly seq: number }
  /** The checkpoints cannot be trusted, so nothing is sealed over them. */
  | Extract<Examined, { kind: 'untrusted' }>;

/** Hashing a page takes about three milliseconds, short enough not to delay token requests. */
const PAGE_SIZE = 500;

export async function sealLedger(service: LedgerSealing): Promise<SealOutcome> {
  const { checkpoints, chain, hash } = service;
  // 1. Trust the chain: without unsealed records too, because each pass must notice a changed ledger.
  const examined = await chain.examine();
  if (examined.kind === 'untrusted') return examined;

  // 2. Look for a number that two records have. A sealed one does not stop the sealing of later records.
  const twice = await chain.lookForTwice();
  if (twice?.isSealed === false) return { kind: 'used_twice', seq: twice.seq };

  // 3. Find the unsealed range. It is final: no later append can commit into it.
  const unsealed = await checkpoints.unsealed();
  if (unsealed === undefined) return { kind: 'nothing_unsealed' };
  const { previous, firstSeq, lastSeq } = unsealed;
  if (!isSameCheckpoint(previous, examined.newest)) return { kind: 'overtaken' };

  // 4. Compute the root of its records. A look that failed, or came before, may have missed two of one number.
  const { treeSize, rootHash, usedTwice } = await rebuild(service, unsealed);
  if (usedTwice !== undefined) {
    chain.foundTwice({ seq: usedTwice, isSealed: false });
    return { kind: 'used_twice', seq: usedTwice };
  }

  // 5. Link to the previous checkpoint, and sign.
  const unsigned: UnsignedCheckpoint = {
    checkpointId: (previous?.checkpointId ?? 0) + 1,
    firstSeq,
    lastSeq,
    treeSize,
    rootHash,
    prevCheckpointHash: previous && checkpointHash(hash, previous),
    closedAt: service.clock.now(),
    kid: service.signer.kid,
  };
  const checkpoint = { ...unsigned, signature: await service.signer.sign(canonicalCheckpoint(unsigned)) };

  // 6. Add the checkpoint. Of concurrent instances the first one wins.
  if ((await checkpoints.add(checkpoint)) === 'overtaken') return { kind: 'overtaken' };
  chain.sealed(checkpoint);
  return { kind: 'sealed', checkpoint };
}

async function rebuild(
  { checkpoints, hash, turn }: LedgerSealing,
  range: SeqRange,
): Promise<Pick<Checkpoint, 'treeSize' | 'rootHash'> & { readonly usedTwice: number | undefined }> {
  const tree = treeBuilder(hash);
  let lastSeq: number | undefined;
  let usedTwice: number | undefined;
  for await (const page of recordPages({ ledger: checkpoints, turn, pageSize: PAGE_SIZE }, range)) {
    for (const record of page) {
      if (record.seq === lastSeq) usedTwice ??= lastSeq;
      lastSeq = record.seq;
      tree.add(leafHash(hash, canonicalRecord(record)));
    }
  }
  // The range ends with an existing record. If it is missing, a row was deleted, and that must not be signed.
  if (lastSeq !== range.lastSeq)
    throw new Error('The ledger no longer holds the record that the unsealed range ends with.');
  return { treeSize: tree.size, rootHash: toHex(tree.root()), usedTwice };
}
