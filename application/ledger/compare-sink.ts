/** Compares what a sink received with the ledger (`mandate after-restore --sink`). Changes nothing. */

import { isSameRecord, type Repetition, repetitionOf, type SinkRecord } from '../../domain/ledger/lost-records.ts';
import type { LedgerRecord } from '../../domain/ledger/record.ts';
import type { Checkpoints } from '../ports/checkpoints.ts';
import type { FindArchivedPart } from './find-archived-part.ts';

/** Records that are compared at once. */
const BATCH = 1_000;

export interface SinkComparison {
  readonly newest: number;
  /** The number of records that only the sink has. */
  readonly lost: number;
  /** In the order of the sink. */
  readonly repetitions: readonly Repetition[];
  /** Numbers whose record in the database has other content. */
  readonly contradicted: readonly number[];
}

/** @throws StorageUnavailable, and what `records` throws */
export async function compareSink(
  records: AsyncIterable<SinkRecord>,
  checkpoints: Pick<Checkpoints, 'records'>,
  archivedPart: FindArchivedPart,
): Promise<SinkComparison> {
  const archived = (await archivedPart())?.lastSeq ?? 0;
  const lost = new Set<number>();
  const contradicted = new Set<number>();
  const repetitions: Repetition[] = [];
  let newest = 0;
  let batch: SinkRecord[] = [];
  const compare = async () => {
    const stored = await storedAt(batch, checkpoints);
    for (const record of batch) {
      const found = stored.get(record.seq);
      if (found !== undefined && !isSameRecord(record, found)) contradicted.add(record.seq);
      // A sink may receive a record twice.
      if ((found !== undefined && isSameRecord(record, found)) || lost.has(record.seq)) continue;
      lost.add(record.seq);
      const repetition = repetitionOf(record);
      if (repetition !== undefined) repetitions.push(repetition);
    }
    batch = [];
  };
  for await (const record of records) {
    newest = Math.max(newest, record.seq);
    if (record.seq <= archived) continue;
    batch.push(record);
    if (batch.length === BATCH) await compare();
  }
  await compare();
  return { newest, lost: lost.size, repetitions, contradicted: [...contradicted] };
}

async function storedAt(
  batch: readonly SinkRecord[],
  { records }: Pick<Checkpoints, 'records'>,
): Promise<ReadonlyMap<number, LedgerRecord>> {
  const numbers = [...new Set(batch.map(({ seq }) => seq))].sort((one, other) => one - other);
  const lastSeq = numbers.at(-1) ?? 0;
  const stored = new Map<number, LedgerRecord>();
  let read = 0;
  for (const firstSeq of numbers) {
    if (firstSeq <= read) continue;
    const page = await records({ firstSeq, lastSeq }, firstSeq - 1, BATCH);
    for (const record of page) stored.set(record.seq, record);
    read = page.at(-1)?.seq ?? lastSeq;
  }
  return stored;
}
