/** A real export of three checkpoints, and its alterations. Anyone can recompute roots and links, but not signatures. */

import { eventLoopTurn } from '../../../adapters/platform/system-clock.ts';
import { sha256Bytes } from '../../../adapters/platform/system-crypto.ts';
import { exportLines } from '../../../application/ledger/export-lines.ts';
import { type Instant, instantFromMillis } from '../../../domain/instant.ts';
import {
  type ArchivedRecord,
  type ArchiveHeader,
  formatCheckpoint,
  formatHeader,
  formatRecord,
  parseCheckpoint,
  parseHeader,
  parseRecord,
} from '../../../domain/ledger/archive-format.ts';
import { canonicalCheckpoint, canonicalRecord } from '../../../domain/ledger/canonical-json.ts';
import { type Checkpoint, checkpointHash, toHex } from '../../../domain/ledger/checkpoint.ts';
import { leafHash, treeBuilder } from '../../../domain/ledger/merkle-tree.ts';
import { type Month, parseMonth } from '../../../domain/ledger/time-range.ts';
import { freshDatabase } from '../databases.ts';
import { append, seal } from './fill.ts';
import type { SealingKey } from './sealing-key.ts';

export interface Export {
  readonly header: ArchiveHeader;
  readonly checkpoints: readonly Checkpoint[];
  readonly records: readonly ArchivedRecord[];
}

export const SEPTEMBER = at('2026-09-17T10:00:00Z');
const OCTOBER = at('2026-10-01T00:00:00Z');

export function at(text: string): Instant {
  return instantFromMillis(Date.parse(text));
}

export function monthOf(text: string): Month {
  const month = parseMonth(text);
  if (month === undefined) throw new Error(text);
  return month;
}

/** An export of September with checkpoints of 4, 3 and 5 records. The last one also has records of October. */
export async function exported(key: SealingKey): Promise<Export> {
  const database = await freshDatabase('sqlite');
  const storage = await database.open();
  await append(storage, 4, SEPTEMBER);
  await seal(storage, key.signer, SEPTEMBER);
  await append(storage, 3, SEPTEMBER, 4);
  await seal(storage, key.signer, SEPTEMBER);
  await append(storage, 3, SEPTEMBER, 7);
  await append(storage, 2, OCTOBER, 10);
  await seal(storage, key.signer, OCTOBER);
  const header = { month: monthOf('2026-09'), checkpoints: 3, records: 12 };
  const reading = { checkpoints: storage.checkpoints, turn: eventLoopTurn };
  const lines: string[] = [];
  for await (const batch of exportLines(reading, { header, after: 0, through: 3 })) lines.push(...batch);
  await storage.close();
  await database.drop();
  const [head = '', ...rest] = lines;
  return {
    header: present(parseHeader(head)),
    checkpoints: rest.slice(0, 3).map((line) => present(parseCheckpoint(line))),
    records: rest.slice(3).map((line) => present(parseRecord(line))),
  };
}

export function present<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('the export has a line that cannot be read');
  return value;
}

export function textOf({ header, checkpoints, records }: Export): string {
  const lines = [formatHeader(header), ...checkpoints.map(formatCheckpoint), ...records.map(formatRecord)];
  return lines.map((line) => `${line}\n`).join('');
}

/** Corrects the counts in the header. */
export function counted({ header, checkpoints, records }: Export): Export {
  return { header: { ...header, checkpoints: checkpoints.length, records: records.length }, checkpoints, records };
}

/** A valid export of only these checkpoints. */
export function through({ header, checkpoints, records }: Export, first: number, last: number): Export {
  return counted({
    header,
    checkpoints: checkpoints.filter(({ checkpointId }) => checkpointId >= first && checkpointId <= last),
    records: records.filter(({ checkpoint }) => checkpoint >= first && checkpoint <= last),
  });
}

export function withCheckpoint(
  one: Export,
  id: number,
  change: (checkpoint: Checkpoint) => Partial<Checkpoint>,
): Export {
  const checkpoints = one.checkpoints.map((each) => (each.checkpointId === id ? { ...each, ...change(each) } : each));
  return { ...one, checkpoints };
}

export function withRecord(one: Export, seq: number, change: Partial<ArchivedRecord>): Export {
  return { ...one, records: one.records.map((each) => (each.seq === seq ? { ...each, ...change } : each)) };
}

export function recordOf({ records }: Export, seq: number): ArchivedRecord {
  return present(records.find((record) => record.seq === seq));
}

export function swapped(records: readonly ArchivedRecord[], one: number, other: number): readonly ArchivedRecord[] {
  const at = (seq: number) => records.findIndex((record) => record.seq === seq);
  return records.with(at(one), present(records[at(other)])).with(at(other), present(records[at(one)]));
}

/** Recomputes every root and link from the records, as anyone can. */
export function rebuilt(one: Export, kid?: string): Export {
  const checkpoints: Checkpoint[] = [];
  for (const checkpoint of one.checkpoints) {
    const tree = treeBuilder(sha256Bytes);
    for (const record of one.records) {
      if (record.checkpoint === checkpoint.checkpointId) tree.add(leafHash(sha256Bytes, canonicalRecord(record)));
    }
    const previous = checkpoints.at(-1);
    checkpoints.push({
      ...checkpoint,
      kid: kid ?? checkpoint.kid,
      rootHash: toHex(tree.root()),
      prevCheckpointHash: previous && checkpointHash(sha256Bytes, previous),
    });
  }
  return { ...one, checkpoints };
}

export async function signed(one: Export, { signer }: SealingKey): Promise<Export> {
  const sign = async (checkpoint: Checkpoint) => ({
    ...checkpoint,
    signature: await signer.sign(canonicalCheckpoint(checkpoint)),
  });
  return { ...one, checkpoints: await Promise.all(one.checkpoints.map(sign)) };
}
