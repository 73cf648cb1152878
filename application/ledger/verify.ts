/**
 * Verifies the whole ledger (specification "Ledger and seal", `audit-verify`). For every checkpoint in order, it checks
 * the link to the previous one and the signature. It rebuilds the root from the records, and stops at the first fault.
 *
 * Records are read in large pages, even if the checkpoints are small. They are read after the checkpoint that seals them:
 * its range is then final, so the service may write to the ledger during the verification.
 */

import type { Instant } from '../../domain/instant.ts';
import { type ArchivedPart, archivedPart } from '../../domain/ledger/archived-part.ts';
import { canonicalRecord } from '../../domain/ledger/canonical-json.ts';
import { type Checkpoint, type Mark, toHex } from '../../domain/ledger/checkpoint.ts';
import type { LedgerFault, LogFault } from '../../domain/ledger/log-fault.ts';
import { leafHash, treeBuilder } from '../../domain/ledger/merkle-tree.ts';
import type { LedgerRecord } from '../../domain/ledger/record.ts';
import { namedKey } from '../../domain/ledger/recorded-keys.ts';
import {
  chainFault,
  contradictedMark,
  type LateSeals,
  lateSeals,
  unmatchedMark,
  type VerificationFault,
} from '../../domain/ledger/verification.ts';
import { isOrdered, recordOrders } from '../../domain/log/record-orders.ts';
import type { Checkpoints } from '../ports/checkpoints.ts';
import type { CheckpointVerdict, CheckpointVerifier } from '../ports/keys.ts';
import type { Hash, Turn } from '../ports/runtime.ts';
import { type Departures, departures } from './departures.ts';
import { lastSealed } from './last-sealed.ts';
import { type RecordedKey, recordedSigners, signatureVerdict } from './recorded-signers.ts';
import { type RecordStream, recordStream } from './verified-records.ts';

/** The parts of a ledger that a verification reads. */
export type VerifiableLedger = Pick<Checkpoints, 'page' | 'records' | 'archivings' | 'outside'>;

export interface LedgerVerification {
  readonly ledger: VerifiableLedger;
  readonly verifier: CheckpointVerifier;
  readonly hash: Hash;
  readonly turn: Turn;
  /**
   * The keys that the transparency log recorded, if the reader asked to believe those that the ledger names
   * (domain/ledger/recorded-keys.ts). By default no such key counts: it comes from the database for which it is to vouch.
   */
  readonly recorded?: readonly RecordedKey[];
  /** Verifies only what follows this checkpoint, with which an earlier verification ended. */
  readonly after?: Checkpoint | undefined;
  /** The marks that an auditor kept of earlier verifications. */
  readonly marks?: readonly Mark[];
  /** The transparency log, or a note of it, which must have the same checkpoints (application/log/compare-log.ts). */
  readonly follower?: CheckpointFollower | undefined;
  /** `Service:Audit:Checkpoint:Interval`, in seconds: checkpoints that were closed much later are reported. */
  readonly interval?: number | undefined;
  /** Called now and then, with the sequence numbers verified so far and in all. */
  readonly progress?: ((done: number, total: number) => void) | undefined;
}

/** Gets the checkpoints in their order, each after it was verified. A fault ends the verification. */
export interface CheckpointFollower {
  next(checkpoint: Checkpoint): Promise<LogFault | undefined>;
  /** @param newestId of the last checkpoint; 0 for an empty ledger */
  end(newestId: number): LogFault | undefined;
}

interface VerificationCounts {
  /** Verified checkpoints, archived ones included. */
  checkpoints: number;
  /** Verified records: the ledger holds them as they were sealed. */
  records: number;
  /** Checkpoints of which a sealed record says that their records were archived: only signature and link were verified. */
  archived: number;
  /** Records that no checkpoint covers yet: they could not be verified. */
  unsealed: number;
}

export interface VerifiedLedger {
  /** The mark of the last verified checkpoint. */
  readonly lastMark: Mark | undefined;
  /** The last verified checkpoint. */
  readonly newest: Checkpoint | undefined;
  /** What verified records say of archived months, one for each month that was archived. */
  readonly departed: readonly ArchivedPart[];
  readonly counts: Readonly<VerificationCounts>;
  /** The recorded keys that were needed. */
  readonly recorded: readonly Pick<RecordedKey, 'kid' | 'thumbprint'>[];
  /** Absent if there are none. */
  readonly late?: LateSeals;
}

export type VerificationOutcome = VerifiedLedger &
  ({ readonly kind: 'intact' } | { readonly kind: 'broken'; readonly fault: LedgerFault });

/** The signatures of a batch are verified while its records are hashed. */
const CHECKPOINTS_AT_ONCE = 500;
/** Rows written by hand can have negative numbers. */
const BELOW_EVERY_NUMBER = Number.MIN_SAFE_INTEGER;

/** @throws StorageUnavailable when the ledger cannot be read */
export async function verifyLedger(verification: LedgerVerification): Promise<VerificationOutcome> {
  const { ledger, marks = [], progress } = verification;
  const walk: Walk = {
    ...verification,
    marks,
    departures: await departures(verification),
    beforeExcused: undefined,
    counts: { checkpoints: 0, records: 0, archived: 0, unsealed: 0 },
    newest: verification.after,
    recordedKeys: recordedSigners(verification.recorded ?? []),
    late: lateSeals(verification.interval),
    orders: recordOrders(),
    total: progress === undefined ? 0 : await lastSealed(ledger),
  };
  const fault =
    (await walkCheckpoints(walk)) ??
    (await archiveFault(walk)) ??
    walk.recordedKeys.fault() ??
    unmatchedMark(marks, walk.newest) ??
    walk.follower?.end(walk.newest?.checkpointId ?? 0) ??
    (await countUnsealed(walk));
  const { newest, counts } = walk;
  const lastMark = newest && { checkpointId: newest.checkpointId, rootHash: newest.rootHash };
  const late = walk.late.found();
  const departed = walk.departures.verified();
  const outcome = { lastMark, newest, departed, counts, recorded: walk.recordedKeys.used(), ...(late && { late }) };
  return fault === undefined ? { kind: 'intact', ...outcome } : { kind: 'broken', ...outcome, fault };
}

/** The progress of a verification. */
interface Walk extends LedgerVerification {
  readonly marks: readonly Mark[];
  readonly counts: VerificationCounts;
  readonly total: number;
  readonly recordedKeys: ReturnType<typeof recordedSigners>;
  readonly late: ReturnType<typeof lateSeals>;
  readonly orders: ReturnType<typeof recordOrders>;
  readonly departures: Departures;
  /** The state before the first checkpoint whose records were archived. */
  beforeExcused: { readonly newest: Checkpoint | undefined; readonly counts: VerificationCounts } | undefined;
  /** The last verified checkpoint. */
  newest: Checkpoint | undefined;
}

async function walkCheckpoints(walk: Walk): Promise<LedgerFault | undefined> {
  for (;;) {
    const after = walk.newest?.checkpointId ?? BELOW_EVERY_NUMBER;
    const batch = await walk.ledger.page(after, CHECKPOINTS_AT_ONCE);
    if (batch.length === 0) return undefined;
    const fault = await verifyBatch(walk, batch);
    if (fault !== undefined) return fault;
  }
}

async function verifyBatch(walk: Walk, batch: readonly Checkpoint[]): Promise<LedgerFault | undefined> {
  const verdicts = batch.map((checkpoint) => signatureVerdict(walk.verifier, checkpoint));
  // Not the last checkpoint's `lastSeq`: if it was altered, records of earlier checkpoints would seem to be missing.
  const highest = Math.max(...batch.map((checkpoint) => checkpoint.lastSeq));
  // A number beyond the safe integers makes the database fail.
  const lastSeq = Math.min(highest, Number.MAX_SAFE_INTEGER);
  const records = recordStream(walk, { firstSeq: afterNewest(walk), lastSeq });
  for (const [index, checkpoint] of batch.entries()) {
    const counts = { ...walk.counts };
    const verdict = await verdicts[index];
    const recorded = verdict === 'verified' ? undefined : await walk.recordedKeys.signer(checkpoint);
    const fault =
      chainFault(walk.hash, walk.newest, checkpoint) ??
      signatureFault(checkpoint, recorded === undefined ? verdict : 'verified') ??
      (await rootFault(walk, records, checkpoint, recorded)) ??
      contradictedMark(walk.marks, checkpoint) ??
      (await walk.follower?.next(checkpoint));
    if (fault !== undefined) {
      // Remove the checkpoint's records from the count: a mark may contradict the checkpoint after they were counted.
      Object.assign(walk.counts, counts);
      return fault;
    }
    walk.newest = checkpoint;
    walk.counts.checkpoints += 1;
  }
  walk.progress?.(Math.min(lastSeq, walk.total), walk.total);
  return undefined;
}

function signatureFault({ checkpointId }: Checkpoint, verdict: CheckpointVerdict | undefined) {
  return verdict === undefined || verdict === 'verified' ? undefined : { kind: verdict, checkpointId };
}

/** Reads the records of the checkpoint's range and rebuilds its root. */
async function rootFault(
  walk: Walk,
  records: RecordStream,
  checkpoint: Checkpoint,
  signer: RecordedKey | undefined,
): Promise<VerificationFault | undefined> {
  const { checkpointId, firstSeq, lastSeq, treeSize, rootHash } = checkpoint;
  const tree = treeBuilder(walk.hash);
  const named: string[] = [];
  const ordered: LedgerRecord[] = [];
  const parts: ArchivedPart[] = [];
  let [outside, oldest]: [number?, Instant?] = [];
  await records.through(lastSeq, (record) => {
    if (record.seq < firstSeq) outside ??= record.seq;
    if (oldest === undefined || record.at < oldest) oldest = record.at;
    const thumbprint = namedKey(record);
    if (thumbprint !== undefined) named.push(thumbprint);
    if (isOrdered(record)) ordered.push(record);
    const part = archivedPart(record);
    if (part !== undefined) parts.push(part);
    tree.add(leafHash(walk.hash, canonicalRecord(record)));
  });
  if (outside !== undefined) return { kind: 'record_outside', seq: outside };
  const twice = records.twice();
  if (twice !== undefined) return twice;
  // Archived records may be missing. If all of them are still there, they are verified like any others.
  const lacking = { checkpoint, previous: walk.newest, held: tree.size };
  if (tree.size < treeSize && (await walk.departures.excuse(lacking))) {
    walk.beforeExcused ??= { newest: walk.newest, counts: { ...walk.counts } };
    walk.counts.archived += 1;
    return undefined;
  }
  if (tree.size !== treeSize) return { kind: 'tree_size', checkpointId, sealed: treeSize, held: tree.size };
  if (toHex(tree.root()) !== rootHash) return { kind: 'root_mismatch', checkpointId };
  walk.counts.records += tree.size;
  // Only after the root matched: otherwise nothing is known about a record that is still there.
  for (const thumbprint of named) walk.recordedKeys.named({ thumbprint, checkpointId, signer: signer?.thumbprint });
  for (const part of parts) walk.departures.add(part);
  walk.late.sealed(checkpoint, oldest);
  for (const record of ordered) {
    // Archived records, and those before `after`, were not compared: among them may be the request, or the offer.
    const older = walk.counts.archived > 0 || walk.after !== undefined;
    const fault = walk.orders.fault(record, { older, others: false });
    if (fault !== undefined) return { seq: record.seq, ...fault };
  }
  return undefined;
}

/** The fault of a checkpoint that lacks records, if no verified record says that they were archived. */
async function archiveFault(walk: Walk): Promise<VerificationFault | undefined> {
  const unnamed = await walk.departures.unnamed();
  if (unnamed === undefined || walk.beforeExcused === undefined) return undefined;
  walk.newest = walk.beforeExcused.newest;
  Object.assign(walk.counts, walk.beforeExcused.counts);
  const { checkpointId, treeSize } = unnamed.checkpoint;
  return { kind: 'tree_size', checkpointId, sealed: treeSize, held: unnamed.held };
}

async function countUnsealed(walk: Walk): Promise<VerificationFault | undefined> {
  let outside: number | undefined;
  const records = recordStream(walk, { firstSeq: afterNewest(walk), lastSeq: Number.MAX_SAFE_INTEGER });
  await records.through(Number.MAX_SAFE_INTEGER, ({ seq }) => {
    if (seq < 1) outside ??= seq;
    walk.counts.unsealed += 1;
  });
  const twice = records.twice();
  if (twice !== undefined) return twice;
  const seq = outside ?? (await walk.ledger.outside());
  return seq === undefined ? undefined : { kind: 'record_outside', seq: shortest(seq) };
}

/** Beyond the safe integers a number is text. */
function shortest(seq: number | string): number | string {
  return Number.isSafeInteger(Number(seq)) ? Number(seq) : seq;
}

function afterNewest({ newest }: Walk): number {
  return newest === undefined ? BELOW_EVERY_NUMBER + 1 : newest.lastSeq + 1;
}
