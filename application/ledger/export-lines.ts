/** Reads and writes the lines of an export in batches, so that memory does not grow with the size of the export. */

import {
  type ArchiveHeader,
  formatCheckpoint,
  formatHeader,
  formatRecord,
  parseHeader,
} from '../../domain/ledger/archive-format.ts';
import type { Checkpoint } from '../../domain/ledger/checkpoint.ts';
import type { Checkpoints } from '../ports/checkpoints.ts';
import type { Lines, StoredExport } from '../ports/exports.ts';
import type { Turn } from '../ports/runtime.ts';
import { recordPages } from './record-pages.ts';

/** Thrown for a line that is not in the format of an export. */
export class MalformedLine extends Error {
  override readonly name = 'MalformedLine';
  /** Counted from 1. */
  readonly line: number;

  constructor(line: number) {
    super(`Line ${line} of an export is malformed.`);
    this.line = line;
  }
}

/** Reads the values on consecutive lines of a file. The caller must close it. */
export interface LineReader<Value> {
  /** The next value; `undefined` after the last. @throws MalformedLine, ExportDamaged, ExportUnusable */
  next(): Promise<Value | undefined>;
  close(): Promise<void>;
}

/** @param skipped the number of lines to skip at the start */
export function lineReader<Value>(
  stored: StoredExport,
  skipped: number,
  parse: (line: string) => Value | undefined,
): LineReader<Value> {
  const batches = stored.lines()[Symbol.asyncIterator]();
  let batch: readonly string[] = [];
  let at = 0;
  // The number of lines before the current batch.
  let passed = 0;
  return {
    async next() {
      while (at >= batch.length || passed + at < skipped) {
        if (at < batch.length) {
          at = Math.min(skipped - passed, batch.length);
          continue;
        }
        const read = await batches.next();
        if (read.done) return undefined;
        passed += batch.length;
        batch = read.value;
        at = 0;
      }
      const value = parse(batch[at] ?? '');
      at += 1;
      if (value === undefined) throw new MalformedLine(passed + at);
      return value;
    },
    async close() {
      await batches.return?.();
    },
  };
}

export async function readHeader(stored: StoredExport): Promise<ArchiveHeader> {
  const reader = lineReader(stored, 0, parseHeader);
  try {
    const header = await reader.next();
    if (header === undefined) throw new MalformedLine(1);
    return header;
  } finally {
    await reader.close();
  }
}

/** The checkpoints of an export: those with ids above `after`, up to `through`. */
export interface ExportContent {
  readonly header: ArchiveHeader;
  readonly after: number;
  readonly through: number;
}

/** Reading a page takes some milliseconds. */
const CHECKPOINTS_AT_ONCE = 1000;
const RECORDS_AT_ONCE = 2000;

/** The parts of the ledger that an export reads. */
interface ExportReading {
  readonly checkpoints: Pick<Checkpoints, 'page' | 'records'>;
  readonly turn: Turn;
}

/** The text of an export, made from the ledger. */
export async function* exportLines(reading: ExportReading, content: ExportContent): Lines {
  yield [formatHeader(content.header)];
  for await (const page of checkpointPages(reading.checkpoints, content)) yield page.map(formatCheckpoint);
  for await (const page of checkpointPages(reading.checkpoints, content)) yield* recordLines(reading, page);
}

export async function* checkpointPages(
  checkpoints: Pick<Checkpoints, 'page'>,
  { after, through }: Pick<ExportContent, 'after' | 'through'>,
): AsyncGenerator<readonly Checkpoint[], undefined> {
  for (let last = after; last < through; ) {
    const page = await checkpoints.page(last, Math.min(CHECKPOINTS_AT_ONCE, through - last));
    const end = page.at(-1);
    if (end === undefined) return;
    yield page;
    last = end.checkpointId;
  }
}

async function* recordLines({ checkpoints, turn }: ExportReading, sealedBy: readonly Checkpoint[]): Lines {
  const [first, last] = [sealedBy[0], sealedBy.at(-1)];
  if (first === undefined || last === undefined) return;
  const range = { firstSeq: first.firstSeq, lastSeq: last.lastSeq };
  const later = [...sealedBy];
  let covering = later.shift();
  for await (const page of recordPages({ ledger: checkpoints, turn, pageSize: RECORDS_AT_ONCE }, range)) {
    yield page.map((record) => {
      while (covering !== undefined && covering.lastSeq < record.seq) covering = later.shift();
      return formatRecord({ ...record, checkpoint: (covering ?? last).checkpointId });
    });
  }
}
