/**
 * Verifies an evidence bundle line by line, without anything else: each record leads to its checkpoint's root, each
 * checkpoint is signed, and leads to the root of the log, whose note is signed by the log and its witnesses. A fault names
 * the line. Whether the keys are to be believed is decided by a policy, or by hand.
 *
 * bundle-log.ts verifies the note, bundle-order.ts the order of the records. bundle-questions.ts collects the questions to people,
 * bundle-hops.ts the hand-overs. bundle-fault.ts lists the faults, and bundle-verdict.ts has the outcome.
 */

import { parseApprovalDetail, type SaltedWords } from '../approvals/approval.ts';
import { commitmentText } from '../approvals/commitment.ts';
import { isRecordedSays, type PersonSays } from '../approvals/recorded-says.ts';
import type { TaskId } from '../identifiers.ts';
import { canonicalCheckpoint } from '../ledger/canonical-json.ts';
import { type Checkpoint, toHex } from '../ledger/checkpoint.ts';
import { inclusionFault } from '../ledger/inclusion.ts';
import { entryHash, type Hash } from '../ledger/merkle-tree.ts';
import { Unreadable } from '../ledger/published.ts';
import type { LedgerRecord } from '../ledger/record.ts';
import {
  type BundleSelection,
  type CheckpointEntry,
  type Completeness,
  type EcKey,
  END_OF_EVIDENCE,
  EVIDENCE_LINE,
  FORMAT_LINE,
  formatDigest,
  type RecordEntry,
  readCompleteness,
  readEntry,
  readLog,
  readSelection,
  thumbprintOf,
} from './bundle.ts';
import { type BundleFault, Refused } from './bundle-fault.ts';
import { bundleHops } from './bundle-hops.ts';
import { type BelievedKey, verifyBundleLog } from './bundle-log.ts';
import { isOrderedIn, recordOrder, verifyOrders, verifyTree } from './bundle-order.ts';
import { bundleQuestions } from './bundle-questions.ts';
import type { VerifiedBundle } from './bundle-verdict.ts';
import type { TreeHead } from './checkpoint-note.ts';
import { logEntry } from './log-entry.ts';
import type { VerifyEd25519 } from './note.ts';
import { provesInclusion } from './tree-proofs.ts';

interface BundleMeans {
  readonly hash: Hash;
  /** SHA-256 of texts that follow each other. */
  readonly digest: () => { update(text: string): unknown; hex(): string };
  readonly verifyEd25519: VerifyEd25519;
  /** A verifier of ES256 signatures; `undefined` if the key is no point of the curve. */
  readonly importKey: (key: EcKey) => Es256Verifier | undefined;
}

type Es256Verifier = (message: Uint8Array, signature: Uint8Array) => boolean;

interface BundleVerifier {
  /** Takes the next line, without its newline. After a fault, no further line may follow. */
  take(line: string): BundleFault | undefined;
  /** @param rest the text after the last newline, of which an intact bundle has none */
  end(rest: string): VerifiedBundle | BundleFault;
}

/** The kinds of lines, in the order of the format. `entry` is each line of evidence: a checkpoint, or one of its records. */
type LineKind =
  | 'format'
  | 'selection'
  | 'log'
  | 'evidence'
  | 'entry'
  | 'end_of_evidence'
  | 'completeness'
  | 'digest'
  | 'nothing';

/** The contents and proofs of the lines that were read so far. */
interface Progress {
  readonly means: BundleMeans;
  readonly digest: ReturnType<BundleMeans['digest']>;
  readonly keys: BelievedKey[];
  readonly checkpointKeys: Map<string, Es256Verifier>;
  readonly checkpoints: Map<number, Checkpoint>;
  next: LineKind;
  selection: BundleSelection;
  records: ReturnType<typeof recordOrder>;
  /** The head of the log's tree, if the bundle has a log. */
  head: TreeHead | undefined;
  /** Those about which there are rules of order, in the order of the bundle, which is that of their times. */
  readonly ordered: RecordEntry[];
  readonly hops: ReturnType<typeof bundleHops>;
  readonly questions: ReturnType<typeof bundleQuestions>;
  /** A checkpoint whose first record must follow. */
  awaited: number | undefined;
  completeness: Completeness | undefined;
}

/** Verifies one line, and returns the kind of the next. @throws Refused, Unreadable */
type Step = (progress: Progress, line: string) => LineKind;

const STEPS: Readonly<Record<LineKind, Step>> = {
  format: literal(FORMAT_LINE, 'selection'),
  selection(progress, line) {
    progress.selection = readSelection(line);
    progress.records = recordOrder(progress.selection);
    return 'log';
  },
  log(progress, line) {
    const log = readLog(line);
    if (log !== undefined) {
      const { tree, keys } = verifyBundleLog(progress.means, log);
      progress.head = tree;
      progress.keys.push(...keys);
    }
    return 'evidence';
  },
  evidence: literal(EVIDENCE_LINE, 'entry'),
  entry(progress, line) {
    const isLast = !line.endsWith(',');
    const entry = readEntry(isLast ? line : line.slice(0, -1));
    if ('record' in entry) verifyRecord(progress, entry);
    else if (progress.awaited === undefined && !isLast) verifyCheckpoint(progress, entry);
    else throw new Unreadable('A checkpoint has no record after it.');
    return isLast ? 'end_of_evidence' : 'entry';
  },
  end_of_evidence: literal(END_OF_EVIDENCE, 'completeness'),
  completeness(progress, line) {
    progress.completeness = verifyCompleteness(progress, readCompleteness(line));
    return 'digest';
  },
  digest(progress, line) {
    const expected = formatDigest(progress.digest.hex());
    if (line.length !== expected.length) throw new Unreadable('It is not a digest.');
    if (line !== expected) {
      throw new Refused(
        'digest',
        'It is not the SHA-256 of the lines before: this line was changed, or a part that no proof covers, in the line of selection or of completeness.',
      );
    }
    return 'nothing';
  },
  nothing() {
    throw new Unreadable('The bundle ended before it.');
  },
};

export function bundleVerifier(means: BundleMeans): BundleVerifier {
  const progress: Progress = {
    means,
    digest: means.digest(),
    keys: [],
    checkpointKeys: new Map(),
    checkpoints: new Map(),
    next: 'format',
    selection: {},
    records: recordOrder({}),
    head: undefined,
    ordered: [],
    hops: bundleHops(),
    questions: bundleQuestions(),
    awaited: undefined,
    completeness: undefined,
  };
  let number = 0;

  return {
    take(line) {
      number += 1;
      try {
        if (line.length > MAX_LINE_CHARACTERS) throw new Unreadable('It is longer than any line of this format.');
        progress.next = STEPS[progress.next](progress, line);
        if (progress.next !== 'nothing') progress.digest.update(`${line}\n`);
        return undefined;
      } catch (error) {
        if (error instanceof Refused) return { kind: error.kind, line: number, message: error.message };
        if (error instanceof Unreadable) return { kind: 'malformed', line: number, message: error.message };
        throw error;
      }
    },
    end(rest) {
      const { next, selection, completeness, checkpoints, head, keys, questions, hops } = progress;
      if (next !== 'nothing' || completeness === undefined || rest !== '') {
        return { kind: 'malformed', line: number + 1, message: 'The bundle is cut off.' };
      }
      return {
        selection,
        completeness,
        checkpoints: checkpoints.size,
        log: head && { origin: head.origin, size: head.size },
        keys,
        ...questions.all(),
        ...hops.all(),
      };
    },
  };
}

function literal(text: string, next: LineKind): Step {
  return (_progress, line) => {
    if (line !== text) throw new Unreadable('It is not the line that this format has there.');
    return next;
  };
}

function verifyCheckpoint(progress: Progress, { checkpoint, key, logPath }: CheckpointEntry): void {
  const { means, head, checkpoints, checkpointKeys } = progress;
  const { checkpointId, kid, signature } = checkpoint;
  if (checkpoints.has(checkpointId)) throw new Unreadable(`Checkpoint ${checkpointId} occurs twice.`);
  if (key !== undefined) introduceKey(progress, checkpoint, key);
  const verify = checkpointKeys.get(kid);
  if (verify === undefined) {
    throw new Refused('unknown_key', `The key of checkpoint ${checkpointId} is not in the bundle.`);
  }
  const signed = Buffer.from(canonicalCheckpoint(checkpoint), 'latin1');
  if (!SIGNATURE.test(signature) || !verify(signed, Buffer.from(signature, 'hex'))) {
    throw new Refused('invalid_signature', `Checkpoint ${checkpointId} has an invalid signature.`);
  }
  if ((head === undefined) !== (logPath === undefined)) {
    throw new Unreadable('Each checkpoint has a log_path if, and only if, the bundle has a log.');
  }
  if (head !== undefined && logPath !== undefined) {
    const leaf = entryHash(means.hash, logEntry(checkpoint));
    if (!provesInclusion(means.hash, { ...head, leaf, index: checkpointId - 1, path: logPath })) {
      throw new Refused('not_in_log', `The log of the note does not contain checkpoint ${checkpointId}.`);
    }
  }
  checkpoints.set(checkpointId, checkpoint);
  progress.awaited = checkpointId;
}

/** A key set collected over years may use one `kid` for several keys: the newest one introduced counts. */
function introduceKey({ means, keys, checkpointKeys }: Progress, { kid, checkpointId }: Checkpoint, key: EcKey): void {
  const verify = means.importKey(key);
  if (verify === undefined) {
    throw new Refused('invalid_signature', `The key of checkpoint ${checkpointId} is no point of its curve.`);
  }
  checkpointKeys.set(kid, verify);
  const thumbprint = thumbprintOf(means.hash, key);
  keys.push({
    use: 'checkpoint',
    name: kid,
    thumbprint,
    checkpoint: checkpointId,
    vkey: undefined,
    seconds: undefined,
  });
}

function verifyRecord(progress: Progress, entry: RecordEntry): void {
  const { means, checkpoints, awaited, records } = progress;
  const { record, index, path, words, says } = entry;
  const { seq } = record;
  const checkpoint = record.checkpoint === undefined ? undefined : checkpoints.get(record.checkpoint);
  if (checkpoint === undefined || (awaited !== undefined && awaited !== checkpoint.checkpointId)) {
    throw new Refused('other_record', `Record ${seq} does not lie in the checkpoint before it.`);
  }
  progress.awaited = undefined;
  const fault = inclusionFault(means.hash, record, { checkpoint, index, path });
  if (fault === 'root_mismatch') {
    const { checkpointId } = checkpoint;
    throw new Refused(fault, `Record ${seq} is not the one that checkpoint ${checkpointId} sealed there.`);
  }
  if (fault !== undefined) {
    throw new Refused('other_record', `Record ${seq} cannot lie in its checkpoint at this index.`);
  }
  if (words !== undefined && !areWordsOf(means.hash, record, words)) {
    throw new Refused('other_words', `Record ${seq} is not about the words beside it.`);
  }
  if (says !== undefined && !isSaysOf(means.hash, record, says)) {
    throw new Refused('other_words', `Record ${seq} is not about the line of the person beside it.`);
  }
  const order = records.fault(entry);
  if (order !== undefined) throw new Refused('other_record', `Record ${seq} ${order}.`);
  if (isOrderedIn(progress.selection, record))
    progress.ordered.push({ ...entry, path: [], words: undefined, says: undefined });
  progress.questions.take(entry);
  progress.hops.take(record);
}

function areWordsOf(hash: Hash, { event, taskId, detail }: LedgerRecord, words: SaltedWords): boolean {
  const named = event === 'approval.requested' ? parseApprovalDetail(detail) : undefined;
  if (named === undefined || taskId === undefined) return false;
  const text = commitmentText({ ...words, taskId: taskId as TaskId, digest: named.digest });
  return toHex(hash(Buffer.from(text, 'latin1'))) === named.commitment;
}

function isSaysOf(hash: Hash, { event, detail }: LedgerRecord, says: PersonSays): boolean {
  const saysHash = event === 'approval.refused' ? parseApprovalDetail(detail)?.saysHash : undefined;
  return isRecordedSays((text) => toHex(hash(Buffer.from(text))), says, saysHash);
}

function verifyCompleteness(progress: Progress, said: Completeness): Completeness {
  const { records } = progress;
  const same = Object.entries(records.said()).every(([name, value]) => said[name as keyof Completeness] === value);
  if (!same) {
    throw new Refused(
      'completeness',
      'The bundle says that it has other records, or another start or end of the task.',
    );
  }
  verifyTree(records.tasks, progress.ordered, progress.selection);
  verifyOrders(progress.ordered, progress.selection, said);
  return said;
}

/** The longest possible line holds a note, and is shorter than this. */
export const MAX_LINE_CHARACTERS = 2_097_152;

/** ES256: r and s, 64 bytes, in lowercase hex. */
const SIGNATURE = /^[0-9a-f]{128}$/;
