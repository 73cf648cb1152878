/**
 * Verifies an export alone (specification "Ledger and seal", `audit-verify --archive`): its text, the signature and
 * range of each checkpoint, the links between them, every root, rebuilt from the export's records, and the order of the
 * records of each approval and each hand-over. The checkpoint before the first one is not in the export, so the first link cannot be checked.
 *
 * Two readers read the file at the same time, one the checkpoints and one the records. Neither part is ever in memory
 * as a whole.
 */

import type { Instant } from '../../domain/instant.ts';
import {
  type ArchivedRecord,
  type ArchiveHeader,
  parseCheckpoint,
  parseRecord,
} from '../../domain/ledger/archive-format.ts';
import { canonicalCheckpoint, canonicalRecord } from '../../domain/ledger/canonical-json.ts';
import { type Checkpoint, type Mark, toHex } from '../../domain/ledger/checkpoint.ts';
import { leafHash, treeBuilder } from '../../domain/ledger/merkle-tree.ts';
import { type Month, monthOf } from '../../domain/ledger/time-range.ts';
import {
  chainFault,
  contradictedMark,
  type ExportFault,
  type LateSeals,
  lateSeals,
} from '../../domain/ledger/verification.ts';
import { isOrdered, type RecordOrders, recordOrders } from '../../domain/log/record-orders.ts';
import { ExportDamaged, type StoredExport } from '../ports/exports.ts';
import type { CheckpointVerifier } from '../ports/keys.ts';
import { type LineReader, lineReader, MalformedLine, readHeader } from './export-lines.ts';
import type { LedgerVerification } from './verify.ts';

export interface ExportVerification extends Pick<LedgerVerification, 'hash' | 'verifier' | 'marks' | 'interval'> {
  /** Called after each checkpoint, with counts of records. */
  readonly progress?: ((done: number, total: number) => void) | undefined;
}

export interface IntactExport {
  readonly kind: 'intact';
  readonly header: ArchiveHeader;
  /** `first` and `last` are `undefined` if the month was empty. */
  readonly first: Checkpoint | undefined;
  readonly last: Checkpoint | undefined;
  /** Absent if there are none. */
  readonly late?: LateSeals;
}

/** The verified part before a fault. */
interface VerifiedPart {
  readonly counts: { readonly checkpoints: number; readonly records: number };
  readonly lastMark: Checkpoint | undefined;
}

export type ExportVerdict = IntactExport | (VerifiedPart & { readonly kind: 'broken'; readonly fault: ExportFault });

/** @throws ExportUnusable when the file cannot be read */
export async function verifyExport(stored: StoredExport, means: ExportVerification): Promise<ExportVerdict> {
  let verified: VerifiedPart = { counts: { checkpoints: 0, records: 0 }, lastMark: undefined };
  const broken = (fault: ExportFault): ExportVerdict => ({ kind: 'broken', fault, ...verified });
  try {
    const header = await readHeader(stored);
    const checkpoints = lineReader(stored, 1, parseCheckpoint);
    const records = lookahead(lineReader(stored, 1 + header.checkpoints, parseRecord));
    try {
      let first: Checkpoint | undefined;
      const seals = lateSeals(means.interval);
      const orders = recordOrders();
      const fault = await verify({ ...means, header, checkpoints, records, seals, orders }, (checkpoint) => {
        first ??= checkpoint;
        verified = {
          counts: { checkpoints: verified.counts.checkpoints + 1, records: records.taken() },
          lastMark: checkpoint,
        };
      });
      if (fault !== undefined) return broken(fault);
      const late = seals.found();
      return { kind: 'intact', header, first, last: verified.lastMark, ...(late && { late }) };
    } finally {
      await Promise.all([checkpoints.close(), records.close()]);
    }
  } catch (error) {
    if (error instanceof ExportDamaged) return broken({ kind: 'damaged', damage: error.damage });
    if (error instanceof MalformedLine) return broken({ kind: 'malformed_line', line: error.line });
    throw error;
  }
}

interface Reading extends ExportVerification {
  readonly header: ArchiveHeader;
  readonly checkpoints: LineReader<Checkpoint>;
  readonly records: Lookahead;
  readonly seals: ReturnType<typeof lateSeals>;
  readonly orders: RecordOrders;
}

/** @param verified called after each verified checkpoint, when its records have been read */
async function verify(reading: Reading, verified: (checkpoint: Checkpoint) => void): Promise<ExportFault | undefined> {
  const { header, checkpoints, records, hash, verifier, marks = [], progress } = reading;
  let [first, last]: [Checkpoint | undefined, Checkpoint | undefined] = [undefined, undefined];
  let endsInMonth = header.checkpoints === 0;
  for (let held = 0; held < header.checkpoints; held += 1) {
    const next = await checkpoints.next();
    if (next === undefined) {
      return { kind: 'count', of: 'checkpoints', announced: header.checkpoints, held };
    }
    const fault =
      chainFault(hash, last, next, 'any') ?? contradictedMark(marks, next) ?? (await signatureFault(verifier, next));
    if (fault !== undefined) return fault;
    const covered = await sealedRecords(reading, next);
    if ('fault' in covered) return covered.fault;
    endsInMonth = covered.months.has(header.month);
    first ??= next;
    const disorder = orderFault(reading, covered.ordered, first);
    if (disorder !== undefined) return disorder;
    last = next;
    verified(next);
    progress?.(records.taken(), header.records);
  }
  // The last checkpoint of an export covers the month's highest record, so it must hold a record of the month.
  if (!endsInMonth) return { kind: 'wrong_month', month: header.month };
  return (await countFault(records, header)) ?? unconfirmedMark(marks, first, last);
}

async function signatureFault(verifier: CheckpointVerifier, checkpoint: Checkpoint): Promise<ExportFault | undefined> {
  const { kid, signature, checkpointId } = checkpoint;
  const verdict = await verifier.verify(kid, canonicalCheckpoint(checkpoint), signature);
  return verdict === 'verified' ? undefined : { kind: verdict, checkpointId };
}

interface Covered {
  readonly months: ReadonlySet<Month>;
  readonly ordered: readonly ArchivedRecord[];
}

/** Reads the records of a checkpoint's range and rebuilds its root. */
async function sealedRecords(
  { records, header, hash, seals }: Reading,
  checkpoint: Checkpoint,
): Promise<Covered | { readonly fault: ExportFault }> {
  const { checkpointId, firstSeq, lastSeq, treeSize, rootHash } = checkpoint;
  const tree = treeBuilder(hash);
  const months = new Set<Month>();
  const ordered: ArchivedRecord[] = [];
  let previous = firstSeq - 1;
  let oldest: Instant | undefined;
  for (
    let record = await records.peek();
    record !== undefined && record.seq <= lastSeq;
    record = await records.peek()
  ) {
    const { seq } = records.take(record);
    if (seq <= previous) return { fault: { kind: 'out_of_order', seq } };
    if (record.checkpoint !== checkpointId) return { fault: { kind: 'wrong_checkpoint', seq } };
    const month = monthOf(record.at);
    if (month < header.month) return { fault: { kind: 'wrong_month', month: header.month } };
    months.add(month);
    if (oldest === undefined || record.at < oldest) oldest = record.at;
    if (isOrdered(record)) ordered.push(record);
    tree.add(leafHash(hash, canonicalRecord(record)));
    previous = seq;
  }
  if (tree.size !== treeSize) {
    return { fault: { kind: 'tree_size', checkpointId, sealed: treeSize, held: tree.size } };
  }
  if (toHex(tree.root()) !== rootHash) return { fault: { kind: 'root_mismatch', checkpointId } };
  seals.sealed(checkpoint, oldest);
  return { months, ordered };
}

/** @param first checkpoint of the export. Unless it is that of the ledger, the records before it may have the request, or the offer. */
function orderFault(
  { orders }: Reading,
  records: readonly ArchivedRecord[],
  first: Checkpoint,
): ExportFault | undefined {
  for (const record of records) {
    const fault = orders.fault(record, { older: first.checkpointId > 1, others: false });
    if (fault !== undefined) return { seq: record.seq, ...fault };
  }
  return undefined;
}

async function countFault(records: Lookahead, header: ArchiveHeader): Promise<ExportFault | undefined> {
  const unsealed = await records.peek();
  if (unsealed !== undefined) return { kind: 'record_outside', seq: unsealed.seq };
  const held = records.taken();
  return held === header.records ? undefined : { kind: 'count', of: 'records', announced: header.records, held };
}

/** The fault if a mark names a checkpoint outside of the export: the export cannot confirm such a mark. */
function unconfirmedMark(
  marks: readonly Mark[],
  first: Checkpoint | undefined,
  last: Checkpoint | undefined,
): ExportFault | undefined {
  const outside = marks.find(
    ({ checkpointId }) =>
      first === undefined ||
      last === undefined ||
      checkpointId < first.checkpointId ||
      checkpointId > last.checkpointId,
  );
  return outside && { kind: 'mark_outside', checkpointId: outside.checkpointId };
}

/** A record reader with a lookahead of one. */
interface Lookahead {
  peek(): Promise<ArchivedRecord | undefined>;
  take(peeked: ArchivedRecord): ArchivedRecord;
  taken(): number;
  close(): Promise<void>;
}

function lookahead(reader: LineReader<ArchivedRecord>): Lookahead {
  let next: ArchivedRecord | undefined;
  let taken = 0;
  return {
    async peek() {
      next ??= await reader.next();
      return next;
    },
    take(peeked) {
      next = undefined;
      taken += 1;
      return peeked;
    },
    taken: () => taken,
    close: reader.close,
  };
}
