import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { plusSeconds } from '../../../domain/instant.ts';
import type { Checkpoint } from '../../../domain/ledger/checkpoint.ts';
import type { Hash } from '../../../domain/ledger/merkle-tree.ts';
import {
  type ChainFault,
  chainFault,
  contradictedMark,
  describeFault,
  lateSeals,
} from '../../../domain/ledger/verification.ts';
import { readCheckpoint } from '../../support/independent-ledger/read-published.ts';
import { publishedLedger } from '../../support/independent-ledger/vectors.ts';

const hash: Hash = (bytes) => createHash('sha256').update(bytes).digest();
const chain = publishedLedger.checkpoints.map(readCheckpoint);
const [first, second, third] = chain as [Checkpoint, Checkpoint, Checkpoint];
const OTHER = 'ab'.repeat(32);

describe('the chain of checkpoints', () => {
  it('is intact in the published vectors', () => {
    for (const [index, checkpoint] of chain.entries()) {
      expect(chainFault(hash, chain[index - 1], checkpoint)).to.equal(undefined);
    }
  });

  const faults: readonly [string, Checkpoint | undefined, Checkpoint, ChainFault][] = [
    ['begins late', undefined, second, { kind: 'id_not_contiguous', checkpointId: 2, expectedId: 1 }],
    ['lacks one', first, third, { kind: 'id_not_contiguous', checkpointId: 3, expectedId: 2 }],
    ['repeats one', first, first, { kind: 'id_not_contiguous', checkpointId: 1, expectedId: 2 }],
    [
      'leaves a number out',
      first,
      { ...second, firstSeq: 8 },
      { kind: 'range_not_contiguous', checkpointId: 2, expectedFirstSeq: 7 },
    ],
    [
      'covers a number twice',
      first,
      { ...second, firstSeq: 6 },
      { kind: 'range_not_contiguous', checkpointId: 2, expectedFirstSeq: 7 },
    ],
    [
      'does not begin with the first number',
      undefined,
      { ...first, firstSeq: 2 },
      { kind: 'range_not_contiguous', checkpointId: 1, expectedFirstSeq: 1 },
    ],
    ['runs backwards', first, { ...second, lastSeq: 6 }, { kind: 'range_inverted', checkpointId: 2 }],
    [
      'links to something before the first',
      undefined,
      { ...first, prevCheckpointHash: OTHER },
      { kind: 'link_broken', checkpointId: 1 },
    ],
    ['links elsewhere', first, { ...second, prevCheckpointHash: OTHER }, { kind: 'link_broken', checkpointId: 2 }],
    ['lacks a link', first, { ...second, prevCheckpointHash: undefined }, { kind: 'link_broken', checkpointId: 2 }],
    ['has a replaced root', { ...first, rootHash: OTHER }, second, { kind: 'link_broken', checkpointId: 2 }],
    ['has a replaced time', { ...first, closedAt: second.closedAt }, second, { kind: 'link_broken', checkpointId: 2 }],
  ];
  for (const [what, previous, next, fault] of faults) {
    it(`is broken if the next checkpoint ${what}`, () => expect(chainFault(hash, previous, next)).to.deep.equal(fault));
  }

  it('of an export may begin at any checkpoint, but has no gap, and checkpoint 1 begins the ledger', () => {
    expect(chainFault(hash, undefined, third, 'any')).to.equal(undefined);
    expect(chainFault(hash, undefined, first, 'any')).to.equal(undefined);
    expect(chainFault(hash, first, third, 'any')).to.include({ kind: 'id_not_contiguous' });
    expect(chainFault(hash, undefined, { ...first, firstSeq: 2 }, 'any')).to.include({ kind: 'range_not_contiguous' });
    expect(chainFault(hash, undefined, { ...third, prevCheckpointHash: undefined }, 'any')).to.include({
      kind: 'id_not_contiguous',
    });
    // The ledger's first checkpoint has no link, and must have none in an export either.
    expect(chainFault(hash, undefined, { ...first, prevCheckpointHash: OTHER }, 'any')).to.include({
      kind: 'link_broken',
    });
    expect(chainFault(hash, undefined, { ...second, checkpointId: 0 }, 'any')).to.include({
      kind: 'id_not_contiguous',
    });
  });
});

describe('a mark', () => {
  it('is contradicted only by another root of the same checkpoint', () => {
    const { checkpointId, rootHash } = second;
    expect(contradictedMark([{ checkpointId, rootHash }], second)).to.equal(undefined);
    expect(contradictedMark([{ checkpointId: 1, rootHash: OTHER }], second)).to.equal(undefined);
    expect(
      contradictedMark(
        [
          { checkpointId, rootHash },
          { checkpointId, rootHash: OTHER },
        ],
        second,
      ),
    ).to.deep.equal({
      kind: 'mark_contradicted',
      checkpointId,
    });
  });
});

describe('a checkpoint', () => {
  it('is late if it was closed more than an hour and ten intervals after its oldest record', () => {
    for (const [interval, limit] of [
      [60, 4200],
      [3600, 39_600],
      [undefined, 3600],
    ] as const) {
      const seals = lateSeals(interval);
      seals.sealed(first, plusSeconds(first.closedAt, -limit));
      seals.sealed(first, plusSeconds(first.closedAt, 60));
      seals.sealed(first, undefined);
      expect(seals.found()).to.equal(undefined);
      for (const [late, more] of [
        [second, 0.001],
        [third, 5000],
      ] as const) {
        seals.sealed(late, plusSeconds(late.closedAt, -limit - more));
      }
      expect(seals.found()).to.deep.equal({ count: 2, first: { checkpointId: 2, seconds: limit + 0.001 } });
    }
  });
});

describe('the sentence about a fault', () => {
  it('names the checkpoint, and says whether records were deleted or inserted', () => {
    const sentence = describeFault({ kind: 'tree_size', checkpointId: 12, sealed: 8, held: 7 });
    expect(sentence).to.equal('Checkpoint 12 sealed 8 records, but its range holds 7: records were deleted.');
    expect(describeFault({ kind: 'tree_size', checkpointId: 12, sealed: 8, held: 9 })).to.contain('inserted');
  });
});
