/**
 * A minimal sealer, and a check of its checkpoints. The root is a hash over the records' sequence numbers, so the check
 * finds a record that appeared after its range was sealed.
 */

import { createHash } from 'node:crypto';
import { expect } from 'chai';
import type { Checkpoints, SeqRange, Unsealed } from '../../application/ports/checkpoints.ts';
import { instantFromMicros } from '../../domain/instant.ts';
import type { Checkpoint } from '../../domain/ledger/checkpoint.ts';
import { NOON } from '../support/domain-fixtures.ts';

const PAGE_SIZE = 1_000;

/** The sequence numbers of all stored records of a range. */
export async function seqsOf({ records }: Pick<Checkpoints, 'records'>, range: SeqRange): Promise<readonly number[]> {
  const seqs: number[] = [];
  for (;;) {
    const page = await records(range, seqs.at(-1) ?? 0, PAGE_SIZE);
    seqs.push(...page.map((record) => record.seq));
    if (page.length < PAGE_SIZE) return seqs;
  }
}

/** Every field has a value, except that the first checkpoint has no link. */
export function checkpointOver({ firstSeq, lastSeq, previous }: Unsealed, seqs: readonly number[]): Checkpoint {
  const checkpointId = (previous?.checkpointId ?? 0) + 1;
  return {
    checkpointId,
    firstSeq,
    lastSeq,
    treeSize: seqs.length,
    rootHash: rootOf(seqs),
    prevCheckpointHash: previous && rootOf([previous.checkpointId]),
    closedAt: instantFromMicros(NOON + checkpointId),
    kid: `key-${checkpointId}`,
    signature: `${rootOf([checkpointId])}${rootOf([firstSeq, lastSeq])}`,
  };
}

export async function seal(checkpoints: Checkpoints): Promise<Checkpoint | 'nothing' | 'overtaken'> {
  const unsealed = await checkpoints.unsealed();
  if (unsealed === undefined) return 'nothing';
  const checkpoint = checkpointOver(unsealed, await seqsOf(checkpoints, unsealed));
  return (await checkpoints.add(checkpoint)) === 'added' ? checkpoint : 'overtaken';
}

/** Seals all records. @throws if another sealer runs */
export async function sealed(checkpoints: Checkpoints): Promise<Checkpoint> {
  const outcome = await seal(checkpoints);
  if (typeof outcome === 'string') throw new Error(`not sealed: ${outcome}`);
  return outcome;
}

/** Finds every gap, overlap, changed range and unsealed record. */
export async function faultsOf(checkpoints: Checkpoints): Promise<readonly string[]> {
  const faults: string[] = [];
  let sealedThrough = 0;
  let previous = 0;
  for (;;) {
    const page = await checkpoints.page(previous, PAGE_SIZE);
    for (const { checkpointId, firstSeq, lastSeq, treeSize, rootHash } of page) {
      if (checkpointId !== previous + 1) faults.push(`checkpoint ${checkpointId} comes after ${previous}`);
      if (firstSeq !== sealedThrough + 1) faults.push(`checkpoint ${checkpointId} begins at ${firstSeq}`);
      const seqs = await seqsOf(checkpoints, { firstSeq, lastSeq });
      if (seqs.length !== treeSize || rootOf(seqs) !== rootHash) {
        faults.push(`checkpoint ${checkpointId} sealed ${treeSize} records and holds ${seqs.length}`);
      }
      previous = checkpointId;
      sealedThrough = lastSeq;
    }
    if (page.length < PAGE_SIZE) break;
  }
  const unsealed = await checkpoints.unsealed();
  expect(unsealed?.previous?.checkpointId ?? previous).to.equal(previous);
  if (unsealed !== undefined) faults.push(`nothing seals ${unsealed.firstSeq} to ${unsealed.lastSeq}`);
  return faults;
}

function rootOf(numbers: readonly number[]): string {
  return createHash('sha256').update(numbers.join()).digest('hex');
}
