/**
 * Verifies the whole ledger (specification "Ledger and seal", `audit-verify`): of every checkpoint in order its place in
 * the chain, its signature, and its root against the tree rebuilt from the records. It stops at the first fault.
 *
 * Records are read in large pages whatever the size of the checkpoints, and never before the checkpoint that seals
 * them: only then is a range final, and the ledger may be verified while it is written.
 */

import { canonicalCheckpoint, canonicalRecord } from '../../domain/ledger/canonical-json.ts';
import { type Checkpoint, type Mark, toHex } from '../../domain/ledger/checkpoint.ts';
import { leafHash, treeBuilder } from '../../domain/ledger/merkle-tree.ts';
import type { LedgerRecord } from '../../domain/ledger/record.ts';
import {
  chainFault,
  contradictedMark,
  unmatchedMark,
  type VerificationFault,
} from '../../domain/ledger/verification.ts';
import type { CheckpointVerdict, CheckpointVerifier } from '../ports/checkpoint-keys.ts';
import type { Checkpoints, SeqRange } from '../ports/checkpoints.ts';
import type { Hash } from '../ports/hash.ts';
import type { Turn } from '../ports/turn.ts';
import { recordPages } from './record-pages.ts';

/** All that a verification asks of a ledger. */
export type VerifiableLedger = Pick<Checkpoints, 'page' | 'records' | 'archivedThrough'>;

export interface LedgerVerification {
  readonly ledger: VerifiableLedger;
  readonly verifier: CheckpointVerifier;
  readonly hash: Hash;
  readonly turn: Turn;
  /** What an auditor kept of earlier verifications. */
  readonly marks?: readonly Mark[];
  /** Called once in a while, with the sequence numbers verified so far and in all. */
  readonly progress?: ((done: number, total: number) => void) | undefined;
}

interface VerificationCounts {
  /** That verified, archived ones included. */
  checkpoints: number;
  /** That are sealed as they stand in the ledger. */
  records: number;
  /** Checkpoints whose records have left with an export: only their signature and link could be verified here. */
  archived: number;
  /** Records that no checkpoint covers yet, of which nothing can be said. */
  unsealed: number;
}

export type VerificationOutcome = {
  /** Of the last checkpoint that verified. */
  readonly lastMark: Mark | undefined;
  readonly counts: Readonly<VerificationCounts>;
} & ({ readonly kind: 'intact' } | { readonly kind: 'broken'; readonly fault: VerificationFault });

/** Their signatures are verified side by side with the hashing of their records. */
const CHECKPOINTS_AT_ONCE = 500;
const RECORDS_AT_ONCE = 2000;
/** Somebody who can write rows by hand can number them so, too. */
const BELOW_EVERY_NUMBER = Number.MIN_SAFE_INTEGER;

/** @throws StorageUnavailable when the ledger cannot be read */
export async function verifyLedger(verification: LedgerVerification): Promise<VerificationOutcome> {
  const { ledger, marks = [], progress } = verification;
  const walk: Walk = {
    ...verification,
    marks,
    archivedThrough: (await ledger.archivedThrough())?.checkpointId ?? 0,
    counts: { checkpoints: 0, records: 0, archived: 0, unsealed: 0 },
    newest: undefined,
    total: progress === undefined ? 0 : await lastSealed(ledger),
  };
  const fault = (await walkCheckpoints(walk)) ?? unmatchedMark(marks, walk.newest) ?? (await countUnsealed(walk));
  const { newest, counts } = walk;
  const lastMark = newest && { checkpointId: newest.checkpointId, rootHash: newest.rootHash };
  return fault === undefined ? { kind: 'intact', lastMark, counts } : { kind: 'broken', lastMark, counts, fault };
}

/** How far a verification has come. */
interface Walk extends LedgerVerification {
  readonly marks: readonly Mark[];
  readonly archivedThrough: number;
  readonly counts: VerificationCounts;
  readonly total: number;
  /** The last checkpoint that verified. */
  newest: Checkpoint | undefined;
}

async function walkCheckpoints(walk: Walk): Promise<VerificationFault | undefined> {
  for (;;) {
    const after = walk.newest?.checkpointId ?? BELOW_EVERY_NUMBER;
    const batch = await walk.ledger.page(after, CHECKPOINTS_AT_ONCE);
    if (batch.length === 0) return undefined;
    const fault = await verifyBatch(walk, batch);
    if (fault !== undefined) return fault;
  }
}

async function verifyBatch(walk: Walk, batch: readonly Checkpoint[]): Promise<VerificationFault | undefined> {
  const verdicts = batch.map((checkpoint) => signatureVerdict(walk.verifier, checkpoint));
  // Not the last one's: were that altered, the records of those before it would seem to be missing.
  const highest = Math.max(...batch.map((checkpoint) => checkpoint.lastSeq));
  // Nor one that no number can be: asking for it, a database fails.
  const lastSeq = Math.min(highest, Number.MAX_SAFE_INTEGER);
  const records = recordStream(walk, { firstSeq: afterNewest(walk), lastSeq });
  for (const [index, checkpoint] of batch.entries()) {
    const counts = { ...walk.counts };
    const fault =
      chainFault(walk.hash, walk.newest, checkpoint) ??
      signatureFault(checkpoint, await verdicts[index]) ??
      (await rootFault(walk, records, checkpoint)) ??
      contradictedMark(walk.marks, checkpoint);
    if (fault !== undefined) {
      // Its records may have been counted before a mark contradicted it.
      Object.assign(walk.counts, counts);
      return fault;
    }
    walk.newest = checkpoint;
    walk.counts.checkpoints += 1;
  }
  walk.progress?.(Math.min(lastSeq, walk.total), walk.total);
  return undefined;
}

function signatureVerdict(verifier: CheckpointVerifier, checkpoint: Checkpoint): Promise<CheckpointVerdict> {
  const verdict = verifier.verify(checkpoint.kid, canonicalCheckpoint(checkpoint), checkpoint.signature);
  // An earlier fault ends the verification before this is waited for.
  verdict.catch(() => undefined);
  return verdict;
}

function signatureFault({ checkpointId }: Checkpoint, verdict: CheckpointVerdict | undefined) {
  return verdict === undefined || verdict === 'verified' ? undefined : { kind: verdict, checkpointId };
}

/** Takes the records of the checkpoint's range and rebuilds its root from them. */
async function rootFault(
  walk: Walk,
  records: RecordStream,
  { checkpointId, firstSeq, lastSeq, treeSize, rootHash }: Checkpoint,
): Promise<VerificationFault | undefined> {
  const tree = treeBuilder(walk.hash);
  let outside: number | undefined;
  await records.through(lastSeq, (record) => {
    if (record.seq < firstSeq) outside ??= record.seq;
    tree.add(leafHash(walk.hash, canonicalRecord(record)));
  });
  if (outside !== undefined) return { kind: 'record_outside', seq: outside };
  // Records that are said to have left are not missed. Those that are all still here must be the ones that were
  // sealed, whatever is said of them.
  if (tree.size < treeSize && (await hasLeft(walk, checkpointId))) {
    walk.counts.archived += 1;
    return undefined;
  }
  if (tree.size !== treeSize) return { kind: 'tree_size', checkpointId, sealed: treeSize, held: tree.size };
  if (toHex(tree.root()) !== rootHash) return { kind: 'root_mismatch', checkpointId };
  walk.counts.records += tree.size;
  return undefined;
}

/** Asked again where it matters: a month may leave while its records are read. */
async function hasLeft({ ledger, archivedThrough }: Walk, checkpointId: number): Promise<boolean> {
  return checkpointId <= archivedThrough || checkpointId <= ((await ledger.archivedThrough())?.checkpointId ?? 0);
}

async function countUnsealed(walk: Walk): Promise<VerificationFault | undefined> {
  let outside: number | undefined;
  const records = recordStream(walk, { firstSeq: afterNewest(walk), lastSeq: Number.MAX_SAFE_INTEGER });
  await records.through(Number.MAX_SAFE_INTEGER, ({ seq }) => {
    if (seq < 1) outside ??= seq;
    walk.counts.unsealed += 1;
  });
  return outside === undefined ? undefined : { kind: 'record_outside', seq: outside };
}

function afterNewest({ newest }: Walk): number {
  return newest === undefined ? BELOW_EVERY_NUMBER + 1 : newest.lastSeq + 1;
}

/** Records across the borders of checkpoints and pages. */
interface RecordStream {
  /** Hands over the records up to a number, in order, those that were handed over before left out. */
  through(lastSeq: number, take: (record: LedgerRecord) => void): Promise<void>;
}

function recordStream({ ledger, turn, progress, total }: Walk, range: SeqRange): RecordStream {
  const pages = recordPages({ ledger, turn, pageSize: RECORDS_AT_ONCE }, range);
  let page: readonly LedgerRecord[] = [];
  let taken = 0;
  return {
    async through(lastSeq, take) {
      for (;;) {
        for (let record = page[taken]; record !== undefined; record = page[taken]) {
          if (record.seq > lastSeq) return;
          take(record);
          taken += 1;
        }
        const next = await pages.next();
        if (next.done) return;
        page = next.value;
        taken = 0;
        progress?.(Math.min(page[0]?.seq ?? 0, total), total);
      }
    },
  };
}

/** How far the newest checkpoint reaches, for the progress: ids have no holes, so it is found by halving. */
async function lastSealed(ledger: VerifiableLedger): Promise<number> {
  const successor = async (id: number) => (await ledger.page(id, 1))[0];
  let low = 0;
  let step = 1;
  let last = await successor(0);
  // Doubles while there is something beyond, then halves.
  for (let growing = true; step >= 1; step = growing ? step * 2 : Math.floor(step / 2)) {
    const beyond = await successor(low + step);
    if (beyond === undefined) growing = false;
    else {
      last = beyond;
      low += step;
    }
  }
  return last?.lastSeq ?? 0;
}
