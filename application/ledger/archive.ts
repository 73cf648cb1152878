/**
 * Archives months of the ledger, oldest first (specification "Ledger and seal", `audit-archive`). Each month is
 * exported, read back and recorded before it is dropped. Only records in a verified export are dropped. Every step can
 * be repeated: a file that an interrupted run left is used if its content equals the export.
 *
 * An export begins after the checkpoint with which the previous export ended. It ends with the checkpoint that covers
 * the month's highest number. A checkpoint across the month boundary is exported whole, with the earlier month. Its
 * records of the later month stay in the ledger until that month is archived, and are not exported again. So every
 * record is in exactly one export.
 */

import { differsTooMuch, earlierOf, secondsAhead } from '../../domain/clocks.ts';
import { formatCheckpoint } from '../../domain/ledger/archive-format.ts';
import { type ArchiveStop, archivedEntry } from '../../domain/ledger/archiving.ts';
import type { Checkpoint } from '../../domain/ledger/checkpoint.ts';
import { type Month, monthOf, startOfMonth } from '../../domain/ledger/time-range.ts';
import type { ExportFault } from '../../domain/ledger/verification.ts';
import type { Archives, Exported, ExportedRange, HeldMonth } from '../ports/archives.ts';
import type { Checkpoints } from '../ports/checkpoints.ts';
import type { DraftExport, ExportFolder, Lines, OpenExport, StoredExport } from '../ports/exports.ts';
import type { CheckpointVerifier } from '../ports/keys.ts';
import type { Clock, Hash, Turn } from '../ports/runtime.ts';
import { checkpointPages, type ExportContent, exportLines } from './export-lines.ts';
import { recordPages } from './record-pages.ts';
import { type VerifiableLedger, verifyLedger } from './verify.ts';
import { verifyExport } from './verify-export.ts';

const RECORDS_AT_ONCE = 500;

export interface Archiving {
  readonly archives: Archives;
  readonly checkpoints: Checkpoints;
  readonly folder: ExportFolder;
  readonly verifier: CheckpointVerifier;
  readonly hash: Hash;
  readonly turn: Turn;
  readonly clock: Clock;
  /** Called after each archived month. */
  readonly archived: (month: ArchivedMonth) => void;
  /** Called now and then while a month is verified, with sequence numbers. */
  readonly progress?: ((done: number, total: number) => void) | undefined;
}

export interface ArchivedMonth {
  readonly month: Month;
  readonly checkpoints: number;
  readonly records: number;
  readonly location: string;
  readonly sha256: string;
}

/** The number of archived months, and why the next month was not archived. Archived months stay archived. */
export interface ArchiveOutcome {
  readonly months: number;
  readonly stop: ArchiveStop | undefined;
}

/** @throws StorageUnavailable, ExportUnusable: the ledger then still holds the current month, or its state is unknown */
export async function archive(before: Month, archiving: Archiving): Promise<ArchiveOutcome> {
  const { archives, clock } = archiving;
  const sentAt = clock.now();
  const time = await archives.databaseTime();
  const ahead = secondsAhead(sentAt, time, clock.now());
  if (differsTooMuch(ahead)) return stopped(0, { kind: 'clocks_disagree', ahead });
  if (before > monthOf(earlierOf(sentAt, time))) return stopped(0, { kind: 'after_current_month', before });
  const held = await archives.exclusively(() => archiveMonths(before, archiving));
  return held === 'busy' ? stopped(0, { kind: 'busy' }) : held.answer;
}

async function archiveMonths(before: Month, archiving: Archiving): Promise<ArchiveOutcome> {
  await archiving.folder.prepare();
  let months = 0;
  for (const held of await archiving.archives.heldBefore(before)) {
    const stop = await archiveMonth(held, archiving);
    if (stop !== undefined) return stopped(months, stop);
    months += 1;
  }
  return { months, stop: undefined };
}

async function archiveMonth(held: HeldMonth, archiving: Archiving): Promise<ArchiveStop | undefined> {
  const { month, partition } = held;
  // A record gets a date in an archived month only if a clock is wrong by days. The month's export exists already.
  if (held.leftBefore) return { kind: 'archived_before', month, partition };
  if (held.undelivered) return { kind: 'undelivered', month };

  // 1. Check that every record of the month is sealed, and that earlier exports have those that will not be exported.
  const exported = await archiving.archives.exported();
  if (!(await isAccountedFor(held, exported, archiving))) return { kind: 'not_exported', month };
  const last = await lastToExport(held, exported, archiving.checkpoints);
  if (last === 'not_sealed') return { kind: 'not_sealed', month };
  const range = last && rangeAfter(exported, last);

  // 2. Verify the chain to its end, and all records up to there that are still held.
  const end = {
    checkpointId: last?.checkpointId ?? exported.lastCheckpoint,
    lastSeq: last?.lastSeq ?? exported.lastSeq,
  };
  const verdict = await verifyLedger({ ...archiving, ledger: ledgerThrough(archiving.checkpoints, end) });
  if (verdict.kind === 'broken') return { kind: 'not_intact', month, fault: verdict.fault };

  // 3. Write the export, or find the export that an interrupted run wrote.
  // 4. Read the file back and recompute every root from it. Only then give the file its final name.
  const content = await contentOf(month, exported, end.checkpointId, archiving.checkpoints);
  const ready = await findOrWrite(content, last, archiving);
  if ('stop' in ready) return ready.stop;

  try {
    return await recordAndDrop(held, { content, exported, range, ready }, archiving);
  } finally {
    await ready.stored.close();
  }
}

interface ToDrop {
  readonly content: ExportContent;
  readonly exported: Exported;
  readonly range: ExportedRange | undefined;
  readonly ready: FinishedExport;
}

/** 5. In one transaction, record the export and drop the month. */
async function recordAndDrop(
  { month, partition }: HeldMonth,
  { content, exported, range, ready }: ToDrop,
  archiving: Archiving,
): Promise<ArchiveStop | undefined> {
  const { stored } = ready;
  const at = archiving.clock.now();
  const sha256 = await stored.sha256();
  const entry = archivedEntry(at, {
    partition,
    firstCheckpoint: range?.firstCheckpoint,
    lastCheckpoint: range?.lastCheckpoint,
    firstSeq: range?.firstSeq,
    lastSeq: range?.lastSeq,
    location: stored.location,
    sha256,
  });
  const outcome = await archiving.archives.remove({ month, at, before: exported, range, entry });
  switch (outcome) {
    case 'removed': {
      const { checkpoints, records } = content.header;
      archiving.archived({ month, checkpoints, records, location: stored.location, sha256 });
      return undefined;
    }
    case 'gained':
      // The export lacks the added record. Delete the export, so that its name is free for a complete one.
      if (ready.kind === 'written') await archiving.folder.withdraw(stored);
      return { kind: 'gained', month, partition };
    case 'undelivered':
    case 'locked':
    case 'overtaken':
      return { kind: outcome, month };
  }
}

/** The checkpoint that seals the month's highest number; `undefined` if nothing of the month is left to export. */
async function lastToExport(
  { lastSeq }: HeldMonth,
  exported: Exported,
  checkpoints: Checkpoints,
): Promise<Checkpoint | 'not_sealed' | undefined> {
  if (lastSeq === undefined || lastSeq <= exported.lastSeq) return undefined;
  const sealing = await checkpoints.sealing(lastSeq);
  return sealing.kind === 'not_sealed' ? 'not_sealed' : sealing.checkpoint;
}

/**
 * Whether earlier exports can have the month's records up to the last exported number. The rows of `ledger_archives` are not
 * sealed. So they must name a checkpoint with its last number, of which records of the earlier month have left, and no month
 * that is still there.
 */
async function isAccountedFor(
  { month, firstSeq = Number.POSITIVE_INFINITY }: HeldMonth,
  { lastCheckpoint, lastSeq }: Exported,
  { checkpoints, turn }: Archiving,
): Promise<boolean> {
  if (lastCheckpoint === 0) return lastSeq === 0;
  const [last] = await checkpoints.page(lastCheckpoint - 1, 1);
  if (last?.checkpointId !== lastCheckpoint || last.lastSeq !== lastSeq) return false;
  const archived = await checkpoints.archivedThrough();
  if (archived !== undefined && startOfMonth(month) < archived.archivedBefore) return false;
  if (firstSeq > lastSeq) return true;
  let held = 0;
  for await (const page of recordPages({ ledger: checkpoints, turn, pageSize: RECORDS_AT_ONCE }, last)) {
    held += page.length;
  }
  return held < last.treeSize;
}

function rangeAfter(exported: Exported, last: Checkpoint): ExportedRange {
  return {
    firstCheckpoint: exported.lastCheckpoint + 1,
    lastCheckpoint: last.checkpointId,
    firstSeq: exported.lastSeq + 1,
    lastSeq: last.lastSeq,
  };
}

/** A view of the ledger that ends with this checkpoint. */
function ledgerThrough(
  checkpoints: Checkpoints,
  { checkpointId, lastSeq }: Pick<Checkpoint, 'checkpointId' | 'lastSeq'>,
): VerifiableLedger {
  return {
    page: async (after, limit) =>
      (await checkpoints.page(after, limit)).filter((checkpoint) => checkpoint.checkpointId <= checkpointId),
    records: async (range, after, limit) =>
      range.firstSeq > lastSeq
        ? []
        : checkpoints.records({ ...range, lastSeq: Math.min(range.lastSeq, lastSeq) }, after, limit),
    archivedThrough: checkpoints.archivedThrough,
    outside: checkpoints.outside,
  };
}

async function contentOf(
  month: Month,
  exported: Exported,
  through: number,
  checkpoints: Checkpoints,
): Promise<ExportContent> {
  const after = exported.lastCheckpoint;
  let [count, records] = [0, 0];
  for await (const page of checkpointPages(checkpoints, { after, through })) {
    count += page.length;
    records += page.reduce((sum, { treeSize }) => sum + treeSize, 0);
  }
  return { header: { month, checkpoints: count, records }, after, through };
}

/** An export under its final name, read back through the handle that is still open. */
interface FinishedExport {
  readonly kind: 'found' | 'written';
  readonly stored: OpenExport;
}

type ReadyExport = FinishedExport | { readonly stop: ArchiveStop };

async function findOrWrite(
  content: ExportContent,
  last: Checkpoint | undefined,
  archiving: Archiving,
): Promise<ReadyExport> {
  const { folder } = archiving;
  const { month } = content.header;
  const found = await folder.find(month);
  if (found !== undefined) {
    return closedUnlessReady(found, async () => {
      const fault = await faultOf(found, content, last, archiving);
      const same = fault === undefined && (await sameLines(found.lines(), exportLines(archiving, content)));
      if (same) return { kind: 'found', stored: found };
      return { stop: { kind: 'export_differs', month, location: found.location, fault: known(fault) } };
    });
  }
  const draft = await folder.draft(month, exportLines(archiving, content));
  return closedUnlessReady(draft, async () => {
    const fault = await faultOf(draft, content, last, archiving);
    if (fault === undefined) return publish(draft, month);
    await draft.discard();
    return { stop: { kind: 'read_back', month, location: draft.location, fault: known(fault) } };
  });
}

/** Closes the file, unless the export is ready: then the caller closes it. */
async function closedUnlessReady(file: OpenExport, judge: () => Promise<ReadyExport>): Promise<ReadyExport> {
  let ready: ReadyExport | undefined;
  try {
    ready = await judge();
    return ready;
  } finally {
    if (ready === undefined || 'stop' in ready) await file.close();
  }
}

async function publish(draft: DraftExport, month: Month): Promise<ReadyExport> {
  const published = await draft.publish();
  if (published.kind === 'published') return { kind: 'written', stored: published.stored };
  await draft.discard();
  return { stop: { kind: 'export_differs', month, location: published.location, fault: undefined } };
}

/** The fault of a file that should be the export of this content; `another` for an intact export of other content. */
async function faultOf(
  stored: StoredExport,
  { header }: ExportContent,
  last: Checkpoint | undefined,
  { hash, verifier }: Archiving,
): Promise<ExportFault | 'another' | undefined> {
  const verdict = await verifyExport(stored, { hash, verifier });
  if (verdict.kind === 'broken') return verdict.fault;
  const found = verdict.header;
  const same =
    found.month === header.month &&
    found.checkpoints === header.checkpoints &&
    found.records === header.records &&
    // The last checkpoint links to all checkpoints before it, so comparing it compares them all.
    (verdict.last && formatCheckpoint(verdict.last)) === (last && formatCheckpoint(last));
  return same ? undefined : 'another';
}

function known(fault: ExportFault | 'another' | undefined): ExportFault | undefined {
  return fault === 'another' ? undefined : fault;
}

function stopped(months: number, stop: ArchiveStop): ArchiveOutcome {
  return { months, stop };
}

/** Whether two texts have the same lines, even if they are split into different batches. */
async function sameLines(left: Lines, right: Lines): Promise<boolean> {
  const [ours, theirs] = [eachLine(left), eachLine(right)];
  try {
    for (;;) {
      const [a, b] = [await ours.next(), await theirs.next()];
      if (a.done || b.done) return a.done === b.done;
      if (a.value !== b.value) return false;
    }
  } finally {
    await Promise.all([ours.return(undefined), theirs.return(undefined)]);
  }
}

async function* eachLine(lines: Lines): AsyncGenerator<string, undefined> {
  for await (const batch of lines) yield* batch;
  return undefined;
}
