/**
 * Archives months of the ledger, oldest first (specification "Ledger and seal", `audit-archive`). Each month is
 * exported, read back and recorded before it is dropped. A checkpoint that verifies must have sealed the record, because the
 * record alone vouches for the missing month (domain/ledger/archived-part.ts). The service seals it, so a run waits for the
 * next pass. Only records in a verified export are dropped. Every step can be repeated: a file and a record that an interrupted
 * run left are used if they are equal.
 *
 * An export begins after the checkpoint with which the previous export ended. It ends with the checkpoint that covers
 * the month's highest number. A checkpoint across the month boundary is exported whole, with the earlier month. Its
 * records of the later month stay in the ledger until that month is archived, and are not exported again. So every
 * record is in exactly one export.
 */

import { differsTooMuch, earlierOf, secondsAhead } from '../../domain/clocks.ts';
import { formatCheckpoint } from '../../domain/ledger/archive-format.ts';
import {
  type ArchivedPart,
  type DepartedMonth,
  departedBefore,
  endOf,
  largestPart,
} from '../../domain/ledger/archived-part.ts';
import { type ArchiveStop, archivedEntry } from '../../domain/ledger/archiving.ts';
import type { Checkpoint } from '../../domain/ledger/checkpoint.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import { type Month, monthOf } from '../../domain/ledger/time-range.ts';
import type { ExportFault } from '../../domain/ledger/verification.ts';
import type { Archives, Exported, ExportedRange, HeldMonth } from '../ports/archives.ts';
import type { Checkpoints } from '../ports/checkpoints.ts';
import type { DraftExport, ExportFolder, Lines, OpenExport, StoredExport } from '../ports/exports.ts';
import type { CheckpointVerifier } from '../ports/keys.ts';
import type { Clock, Hash, Turn } from '../ports/runtime.ts';
import { checkpointPages, type ExportContent, exportLines } from './export-lines.ts';
import { verifyLedger } from './verify.ts';
import { verifyExport } from './verify-export.ts';

export interface Archiving {
  readonly archives: Archives;
  readonly checkpoints: Checkpoints;
  readonly folder: ExportFolder;
  readonly verifier: CheckpointVerifier;
  readonly hash: Hash;
  readonly turn: Turn;
  readonly clock: Clock;
  /** Waits until the answer is true, as long as the service may take to seal. @returns the last answer */
  readonly untilSealed: (isSealed: () => Promise<boolean>) => Promise<boolean>;
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

/** What a run knows of the ledger. */
interface Verified {
  /** The last checkpoint that this run has verified. */
  readonly newest: Checkpoint | undefined;
  /** What verified records say of months that left before. */
  readonly departed: readonly ArchivedPart[];
}

async function archiveMonths(before: Month, archiving: Archiving): Promise<ArchiveOutcome> {
  await archiving.folder.prepare();
  let months = 0;
  let verified: Verified | undefined;
  for (const held of await archiving.archives.heldBefore(before)) {
    // Once for a run: later months need only what was sealed since.
    const verdict = verified ?? (await verifyFrom(undefined, held, archiving));
    if ('kind' in verdict) return stopped(months, verdict);
    const archived = await archiveMonth(held, verdict, archiving);
    if ('kind' in archived) return stopped(months, archived);
    verified = archived;
    months += 1;
  }
  return { months, stop: undefined };
}

async function verifyFrom(
  known: Verified | undefined,
  { month }: HeldMonth,
  archiving: Archiving,
): Promise<Verified | ArchiveStop> {
  const verdict = await verifyLedger({ ...archiving, ledger: archiving.checkpoints, after: known?.newest });
  if (verdict.kind === 'broken') return { kind: 'not_intact', month, fault: verdict.fault };
  return { newest: verdict.newest, departed: [...(known?.departed ?? []), ...verdict.departed] };
}

async function archiveMonth(
  held: HeldMonth,
  verified: Verified,
  archiving: Archiving,
): Promise<Verified | ArchiveStop> {
  const { month, partition } = held;
  // A record gets a date in an archived month only if a clock is wrong by days. The month's export exists already.
  if (held.leftBefore) return { kind: 'archived_before', month, partition };
  if (held.undelivered) return { kind: 'undelivered', month };

  // 1. Find what left before, by sealed records. The rows of `ledger_archives` must say the same.
  const before = departedBefore(verified.departed, month);
  const exported = before && endOf(before);
  if (before === undefined || exported === undefined || !isSame(exported, await archiving.archives.exported()))
    return { kind: 'not_exported', month };

  // 2. Check that every record of the month is sealed by a checkpoint that was verified.
  const last = await lastToExport(held, exported, archiving.checkpoints);
  const newestId = verified.newest?.checkpointId ?? 0;
  if (last === 'not_sealed' || (last?.checkpointId ?? 0) > newestId) return { kind: 'not_sealed', month };
  const range = last && rangeAfter(exported, last);

  // 3. Write the export, or find the export that an interrupted run wrote.
  // 4. Read the file back and recompute every root from it. Only then give the file its final name.
  const through = last?.checkpointId ?? exported.lastCheckpoint;
  const content = await contentOf(month, exported, through, archiving.checkpoints);
  const ready = await findOrWrite(content, last, archiving);
  if ('stop' in ready) return ready.stop;

  try {
    return await recordAndDrop(held, { content, before, exported, range, ready }, verified, archiving);
  } finally {
    await ready.stored.close();
  }
}

function isSame(one: Exported, other: Exported): boolean {
  return one.lastCheckpoint === other.lastCheckpoint && one.lastSeq === other.lastSeq;
}

interface ToDrop {
  readonly content: ExportContent;
  readonly before: readonly DepartedMonth[];
  readonly exported: Exported;
  readonly range: ExportedRange | undefined;
  readonly ready: FinishedExport;
}

async function recordAndDrop(
  held: HeldMonth,
  { content, before, exported, range, ready }: ToDrop,
  verified: Verified,
  archiving: Archiving,
): Promise<Verified | ArchiveStop> {
  const { month, partition } = held;
  const { archives, clock, folder } = archiving;
  const { location } = ready.stored;
  const sha256 = await ready.stored.sha256();

  // 5. Record the export, and wait until a checkpoint seals the record.
  const departed = { month, ...rangesOf(range), sha256 };
  const entry = archivedEntry(clock.now(), { partition, month: departed, location, before });
  if (!(await isRecordedOnce(entry, archiving))) return { kind: 'record_not_sealed', month };

  // 6. Verify what was sealed since. The record counts only if its checkpoint verifies.
  const since = await verifyFrom(verified, held, archiving);
  if ('kind' in since) return since;
  const recorded = largestPart(since.departed.filter(({ record }) => record.detail === entry.detail));
  if (recorded === undefined) return { kind: 'record_not_sealed', month };

  // 7. Drop the month, in one transaction.
  const departure = { month, at: clock.now(), before: exported, range, recordedAs: recorded.record.seq };
  const outcome = await archives.remove(departure);
  switch (outcome) {
    case 'removed': {
      const { checkpoints, records } = content.header;
      archiving.archived({ month, checkpoints, records, location, sha256 });
      return since;
    }
    case 'gained':
      // The export lacks the added record. Delete the export, so that its name is free for a complete one.
      if (ready.kind === 'written') await folder.withdraw(ready.stored);
      return { kind: 'gained', month, partition };
    case 'unrecorded':
      return { kind: 'record_not_sealed', month };
    case 'undelivered':
    case 'locked':
    case 'overtaken':
      return { kind: outcome, month };
  }
}

function rangesOf(range: ExportedRange | undefined): Pick<DepartedMonth, 'checkpoints' | 'sequence'> {
  if (range === undefined) return { checkpoints: undefined, sequence: undefined };
  return {
    checkpoints: { first: range.firstCheckpoint, last: range.lastCheckpoint },
    sequence: { first: range.firstSeq, last: range.lastSeq },
  };
}

/** Appends the record, unless an interrupted run did. @returns whether a checkpoint has sealed it in time */
async function isRecordedOnce(entry: LedgerEntry, { archives, checkpoints, untilSealed }: Archiving): Promise<boolean> {
  const find = async () => (await checkpoints.archivings()).find(({ detail }) => detail === entry.detail);
  if ((await find()) === undefined) await archives.record(entry);
  return untilSealed(async () => (await find())?.checkpoint !== undefined);
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

function rangeAfter(exported: Exported, last: Checkpoint): ExportedRange {
  return {
    firstCheckpoint: exported.lastCheckpoint + 1,
    lastCheckpoint: last.checkpointId,
    firstSeq: exported.lastSeq + 1,
    lastSeq: last.lastSeq,
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
